//! CRC-32 as zlib computes it.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut made = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 {
                0xEDB8_8320 ^ (value >> 1)
            } else {
                value >> 1
            };
            bit += 1;
        }
        made[at] = value;
        at += 1;
    }
    made
}

/// Of short texts: words and names.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8)
    })
}
