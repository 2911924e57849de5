//! CRC-32 of megabytes, as zlib computes it, by carry-less multiplication.
//!
//! Sixty-four bytes are folded at a time: a block that lies n bits in front of another has the same
//! remainder as its product with x^n mod P has there. What is left of that, sixteen bytes, and the
//! end of the text go by the table. Bits are mirrored, as in the table.

/// The checksum of a text behind one whose checksum is `before`; None where the processor cannot.
pub fn checksum(text: &[u8], before: u32) -> Option<u32> {
    if !is_fast() {
        return None;
    }
    Some(!x86::update(!before, text))
}

/// Whether the processor multiplies without carry.
pub fn is_fast() -> bool {
    x86::is_there()
}

/// Other processors.
#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    pub use crate::crc::update;

    pub fn is_there() -> bool {
        false
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::crc::{self, POLYNOMIAL};
    use std::arch::x86_64::*;

    const BLOCK: usize = 16;
    const LANES: usize = 4;

    pub fn is_there() -> bool {
        is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse2")
    }

    /// The register behind some bytes; by the table where there is no such multiplication.
    pub fn update(register: u32, text: &[u8]) -> u32 {
        if text.len() < BLOCK * LANES || !is_there() {
            return crc::update(register, text);
        }
        unsafe { folded(text, register) }
    }

    /// x^exponent mod P, mirrored, one place higher: the product of two mirrored numbers is one short.
    const fn power(exponent: u32) -> i64 {
        let (mut value, mut done) = (1u32 << 31, 0);
        while done < exponent {
            value = (value >> 1) ^ (if value & 1 == 1 { POLYNOMIAL } else { 0 });
            done += 1;
        }
        (value as i64) << 1
    }

    const fn bits(blocks: usize) -> u32 {
        (blocks * BLOCK * 8) as u32
    }

    const FAR: [i64; 2] = [power(bits(LANES) - 32), power(bits(LANES) + 32)];
    const NEAR: [i64; 2] = [power(bits(1) - 32), power(bits(1) + 32)];

    #[inline]
    #[target_feature(enable = "pclmulqdq", enable = "sse2")]
    unsafe fn load(text: &[u8], at: usize) -> __m128i {
        debug_assert!(at + BLOCK <= text.len());
        _mm_loadu_si128(text.as_ptr().add(at).cast())
    }

    /// `state`, moved to where `next` lies, and that.
    #[inline]
    #[target_feature(enable = "pclmulqdq", enable = "sse2")]
    unsafe fn fold(state: __m128i, by: __m128i, next: __m128i) -> __m128i {
        let early = _mm_clmulepi64_si128::<0x00>(state, by);
        let late = _mm_clmulepi64_si128::<0x11>(state, by);
        _mm_xor_si128(next, _mm_xor_si128(early, late))
    }

    /// # Safety
    /// The processor has the features; `text` has at least `LANES` blocks.
    #[target_feature(enable = "pclmulqdq", enable = "sse2")]
    unsafe fn folded(text: &[u8], register: u32) -> u32 {
        let far = _mm_set_epi64x(FAR[0], FAR[1]);
        let near = _mm_set_epi64x(NEAR[0], NEAR[1]);
        let mut lanes = [_mm_setzero_si128(); LANES];
        for (number, lane) in lanes.iter_mut().enumerate() {
            *lane = load(text, number * BLOCK);
        }
        lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(register as i32));
        let mut at = LANES * BLOCK;
        while at + LANES * BLOCK <= text.len() {
            for (number, lane) in lanes.iter_mut().enumerate() {
                *lane = fold(*lane, far, load(text, at + number * BLOCK));
            }
            at += LANES * BLOCK;
        }
        let mut state = lanes[0];
        for lane in &lanes[1..] {
            state = fold(state, near, *lane);
        }
        while at + BLOCK <= text.len() {
            state = fold(state, near, load(text, at));
            at += BLOCK;
        }
        let mut left = [0u8; BLOCK];
        _mm_storeu_si128(left.as_mut_ptr().cast(), state);
        crc::update(crc::update(0, &left), &text[at..])
    }
}
