//! CRC-32 as zlib computes it, of short texts: words and names.

/// Mirrored: the lowest bit is the highest power.
pub const POLYNOMIAL: u32 = 0xEDB8_8320;

static TABLES: [[u32; 256]; 4] = tables();

const fn tables() -> [[u32; 256]; 4] {
    let mut made = [[0; 256]; 4];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 {
                POLYNOMIAL ^ (value >> 1)
            } else {
                value >> 1
            };
            bit += 1;
        }
        made[0][at] = value;
        at += 1;
    }
    // Of a byte with one to three zeros behind it: four bytes at a time need not wait for each other.
    at = 0;
    while at < 256 {
        let mut zeros = 1;
        while zeros < 4 {
            let before = made[zeros - 1][at];
            made[zeros][at] = made[0][(before & 0xFF) as usize] ^ (before >> 8);
            zeros += 1;
        }
        at += 1;
    }
    made
}

pub fn crc32(bytes: &[u8]) -> u32 {
    !update(!0, bytes)
}

/// The register behind some bytes.
pub fn update(register: u32, bytes: &[u8]) -> u32 {
    let mut crc = register;
    let mut fours = bytes.chunks_exact(4);
    for four in &mut fours {
        let value = crc ^ u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        crc = TABLES[3][(value & 0xFF) as usize]
            ^ TABLES[2][(value >> 8 & 0xFF) as usize]
            ^ TABLES[1][(value >> 16 & 0xFF) as usize]
            ^ TABLES[0][(value >> 24) as usize];
    }
    for byte in fours.remainder() {
        crc = TABLES[0][((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8);
    }
    crc
}
