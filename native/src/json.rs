//! JSON that is passed over without building it, as far as Python's decoder takes it for sure.
//!
//! None wherever that decoder might think otherwise: then Python reads the text.

/// Deeper values, and longer numbers, are left to Python, which has limits of its own.
const DEPTH: usize = 50;
const DIGITS: usize = 300;
const TOGETHER: usize = 32;

/// A text between quotes, as it is written.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    pub text: &'a [u8],
    pub has_escapes: bool,
}

impl<'a> Written<'a> {
    /// What is meant; None where it has to be worked out.
    pub fn plain(self) -> Option<&'a [u8]> {
        if self.has_escapes {
            return None;
        }
        Some(self.text)
    }
}

#[derive(Clone, Copy)]
pub struct Scan<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

impl<'a> Scan<'a> {
    pub fn new(text: &'a [u8], at: usize) -> Scan<'a> {
        Scan { text, at }
    }

    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    pub fn take(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// True when nothing but white space is left.
    pub fn is_done(&mut self) -> bool {
        self.peek().is_none()
    }

    pub fn string(&mut self) -> Option<Written<'a>> {
        self.take(b'"')?;
        let begin = self.at;
        let mut has_escapes = false;
        loop {
            self.at = self.next_sign();
            match self.text.get(self.at)? {
                b'"' => {
                    let text = &self.text[begin..self.at];
                    self.at += 1;
                    return Some(Written { text, has_escapes });
                }
                b'\\' => {
                    has_escapes = true;
                    self.at += self.escape_size()?;
                }
                _ => return None,
            }
        }
    }

    /// Where the next quote or backslash stands, from here on.
    fn next_sign(&self) -> usize {
        let is_sign = |byte: &u8| *byte == b'"' || *byte == b'\\';
        let mut at = self.at;
        // No early end inside: so the compiler looks at many bytes at once.
        while let Some(many) = self.text.get(at..at + TOGETHER) {
            if many.iter().fold(false, |found, byte| found | is_sign(byte)) {
                break;
            }
            at += TOGETHER;
        }
        self.text[at..]
            .iter()
            .position(is_sign)
            .map_or(self.text.len(), |size| at + size)
    }

    fn escape_size(&self) -> Option<usize> {
        match self.text.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
            b'u' => {
                let digits = self.text.get(self.at + 2..self.at + 6)?;
                if digits.iter().all(u8::is_ascii_hexdigit) {
                    Some(6)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Pass over any value.
    pub fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b'{' => self.members(|scan, _| scan.value(depth + 1)),
            b'[' => self.items(|scan| scan.value(depth + 1)),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// Members of an object; `each` gets the key, and passes over the value.
    pub fn members(
        &mut self,
        mut each: impl FnMut(&mut Scan<'a>, Written<'a>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            self.peek()?;
            let key = self.string()?;
            self.take(b':')?;
            each(self, key)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    /// Items of a list; `each` passes over one.
    pub fn items(&mut self, mut each: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            each(self)?;
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }

    fn word(&mut self, wanted: &[u8]) -> Option<()> {
        if !self.text[self.at..].starts_with(wanted) {
            return None;
        }
        self.at += wanted.len();
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let size = self.text[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if size == 0 || size > DIGITS {
            return None;
        }
        self.at += size;
        Some(())
    }

    fn takes(&mut self, signs: &[u8]) -> bool {
        let is_there = self
            .text
            .get(self.at)
            .map_or(false, |byte| signs.contains(byte));
        self.at += usize::from(is_there);
        is_there
    }

    fn number(&mut self) -> Option<()> {
        self.takes(b"-");
        if !self.takes(b"0") {
            self.digits()?;
        }
        if self.takes(b".") {
            self.digits()?;
        }
        if self.takes(b"eE") {
            self.takes(b"+-");
            self.digits()?;
        }
        Some(())
    }
}
