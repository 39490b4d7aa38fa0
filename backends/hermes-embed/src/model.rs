//! The table of piece vectors: its file format and its arithmetic.
//!
//! Little-endian: `"SEMB"` | version u32 = 1 | rows u32 | dimension u32 | bits u32 (4 or 8) | slope f32 | offset f32 |
//! one f32 scale a row | the codes. At 4 bits byte `j` of a row holds dimension `2j` in its low and `2j + 1` in its high
//! nibble, and a value is its nibble minus 8; at 8 bits a value is a signed byte. A piece's vector is its scale times
//! its values.

use thiserror::Error;

const MAGIC: [u8; 4] = *b"SEMB";
const VERSION: u32 = 1;

/// Why bytes are not a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum FormatError {
    #[error("not an embedding model: it does not begin with \"SEMB\"")]
    Magic,
    #[error("embedding model of version {0}, only version {VERSION} can be read")]
    Version(u32),
    #[error("embedding model with {0} bits a value, only 4 and 8 can be read")]
    Bits(u32),
    #[error("embedding model with a dimension of {0}, it must be positive, and even at 4 bits")]
    Dimension(u32),
    #[error("embedding model whose calibration is not a finite, rising curve")]
    Calibration,
    #[error("embedding model cut short or too long for the size its header names")]
    Length,
}

/// How a row's values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Nibble,
    Byte,
}

/// A parsed table; the scales and codes stay in the bytes it was parsed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model<'a> {
    dimension: usize,
    row_bytes: usize,
    code: Code,
    slope: f32,
    offset: f32,
    scales: &'a [[u8; 4]],
    codes: &'a [u8],
}

impl<'a> Model<'a> {
    /// Reads the header and checks the sizes. It is `const` so that the bundled file is checked when this crate is
    /// compiled.
    pub(crate) const fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(FormatError::Magic);
        };
        if u32::from_le_bytes(*magic) != u32::from_le_bytes(MAGIC) {
            return Err(FormatError::Magic);
        }
        let Some((version, rest)) = read_u32(rest) else {
            return Err(FormatError::Length);
        };
        if version != VERSION {
            return Err(FormatError::Version(version));
        }
        let Some((rows, rest)) = read_u32(rest) else {
            return Err(FormatError::Length);
        };
        let Some((dimension, rest)) = read_u32(rest) else {
            return Err(FormatError::Length);
        };
        let Some((bits, rest)) = read_u32(rest) else {
            return Err(FormatError::Length);
        };
        let Some((slope, rest)) = read_f32(rest) else {
            return Err(FormatError::Length);
        };
        let Some((offset, rest)) = read_f32(rest) else {
            return Err(FormatError::Length);
        };
        let code = match bits {
            4 => Code::Nibble,
            8 => Code::Byte,
            other => return Err(FormatError::Bits(other)),
        };
        if dimension == 0 || (matches!(code, Code::Nibble) && !dimension.is_multiple_of(2)) {
            return Err(FormatError::Dimension(dimension));
        }
        if !(slope.is_finite() && slope > 0.0 && offset.is_finite()) {
            return Err(FormatError::Calibration);
        }
        let (rows, dimension) = (rows as usize, dimension as usize);
        let row_bytes = match code {
            Code::Nibble => dimension / 2,
            Code::Byte => dimension,
        };
        let (Some(scale_bytes), Some(code_bytes)) = (rows.checked_mul(4), rows.checked_mul(row_bytes)) else {
            return Err(FormatError::Length);
        };
        let Some((scales, codes)) = rest.split_at_checked(scale_bytes) else {
            return Err(FormatError::Length);
        };
        if codes.len() != code_bytes {
            return Err(FormatError::Length);
        }
        Ok(Self { dimension, row_bytes, code, slope, offset, scales: scales.as_chunks().0, codes })
    }

    pub(crate) const fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of pieces the table has a vector for.
    #[cfg(test)]
    pub(crate) const fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Slope and offset of the logistic curve that turns a cosine into a score.
    pub(crate) const fn calibration(&self) -> (f32, f32) {
        (self.slope, self.offset)
    }

    /// Adds a piece's vector to `sum`, which has [`dimension`](Self::dimension) places. An id past the table adds
    /// nothing.
    pub(crate) fn add(&self, id: u32, sum: &mut [f64]) {
        let Ok(row) = usize::try_from(id) else { return };
        let start = row.saturating_mul(self.row_bytes);
        let Some(scale) = self.scales.get(row) else { return };
        let Some(codes) = self.codes.get(start..start.saturating_add(self.row_bytes)) else {
            return;
        };
        let scale = f64::from(f32::from_le_bytes(*scale));
        match self.code {
            Code::Nibble => {
                let (pairs, _) = sum.as_chunks_mut::<2>();
                for ([low, high], byte) in pairs.iter_mut().zip(codes) {
                    *low += scale * (f64::from(byte & 0x0f) - 8.0);
                    *high += scale * (f64::from(byte >> 4) - 8.0);
                }
            }
            Code::Byte => {
                for (place, byte) in sum.iter_mut().zip(codes) {
                    *place += scale * f64::from(byte.cast_signed());
                }
            }
        }
    }
}

const fn read_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes.split_first_chunk::<4>() {
        Some((head, rest)) => Some((u32::from_le_bytes(*head), rest)),
        None => None,
    }
}

const fn read_f32(bytes: &[u8]) -> Option<(f32, &[u8])> {
    match bytes.split_first_chunk::<4>() {
        Some((head, rest)) => Some((f32::from_le_bytes(*head), rest)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of two dimensions at 4 bits: (1, -8) by 0.5 and (7, 0) by 2.
    fn small(bits: u32, codes: &[u8]) -> Vec<u8> {
        let mut bytes = b"SEMB".to_vec();
        for word in [1, 2, 2, bits] {
            bytes.extend(u32::to_le_bytes(word));
        }
        for float in [21.4_f32, -9.8, 0.5, 2.0] {
            bytes.extend(float.to_le_bytes());
        }
        bytes.extend(codes);
        bytes
    }

    fn row(model: &Model<'_>, id: u32) -> Vec<f64> {
        let mut sum = vec![0.0; model.dimension()];
        model.add(id, &mut sum);
        sum
    }

    #[test]
    fn reads_four_bit_rows() {
        let bytes = small(4, &[0x09, 0x8f]);
        let model = Model::parse(&bytes).unwrap();
        assert_eq!((model.rows(), model.dimension()), (2, 2));
        assert_eq!(model.calibration(), (21.4, -9.8));
        assert_eq!(row(&model, 0), [0.5, -4.0]);
        assert_eq!(row(&model, 1), [14.0, 0.0]);
        assert_eq!(row(&model, 2), [0.0, 0.0]);
        assert_eq!(row(&model, u32::MAX), [0.0, 0.0]);
    }

    #[test]
    fn reads_eight_bit_rows() {
        let bytes = small(8, &[1, 0x80, 0x7f, 0xff]);
        let model = Model::parse(&bytes).unwrap();
        assert_eq!(row(&model, 0), [0.5, -64.0]);
        assert_eq!(row(&model, 1), [254.0, -2.0]);
    }

    #[test]
    fn refuses_a_damaged_header() {
        let whole = small(4, &[0x09, 0x8f]);
        let patched = |at: usize, word: [u8; 4]| {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&word);
            Model::parse(&bytes).unwrap_err()
        };
        assert_eq!(patched(0, *b"BMES"), FormatError::Magic);
        assert_eq!(patched(4, [2, 0, 0, 0]), FormatError::Version(2));
        assert_eq!(patched(8, [0xff; 4]), FormatError::Length);
        assert_eq!(patched(12, [0; 4]), FormatError::Dimension(0));
        assert_eq!(patched(12, [3, 0, 0, 0]), FormatError::Dimension(3));
        assert_eq!(patched(16, [5, 0, 0, 0]), FormatError::Bits(5));
        assert_eq!(patched(20, f32::NAN.to_le_bytes()), FormatError::Calibration);
        assert_eq!(patched(20, (-1.0_f32).to_le_bytes()), FormatError::Calibration);
    }

    #[test]
    fn refuses_every_shorter_and_longer_file() {
        let mut bytes = small(4, &[0x09, 0x8f]);
        for end in 0..bytes.len() {
            assert!(Model::parse(&bytes[..end]).is_err(), "the first {end} bytes");
        }
        bytes.push(0);
        assert_eq!(Model::parse(&bytes).unwrap_err(), FormatError::Length);
    }

    proptest::proptest! {
        #[test]
        fn never_panics_on_arbitrary_bytes(tail in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            let bytes = [&b"SEMB\x01\0\0\0"[..], &tail].concat();
            if let Ok(model) = Model::parse(&bytes) {
                row(&model, 0);
            }
        }
    }
}
