//! The AccECN options (RFC 9768 §3.2.3).

/// The order of the fields in an AccECN option, and by it the option's kind (RFC 9768 §3.2.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// EE0B, ECEB, EE1B: kind 172.
    Ect0First,
    /// EE1B, ECEB, EE0B: kind 174.
    Ect1First,
}

/// An AccECN option: the low 24 bits of up to three counters of payload bytes. Fields are left out from the end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    order: AccEcnOrder,
    /// The number of bytes in use of `fields`.
    len: u8,
    fields: [u8; AccEcnOption::FIELDS * AccEcnOption::FIELD_LEN],
}

impl AccEcnOption {
    /// The most fields that an option has.
    pub const FIELDS: usize = 3;
    const FIELD_LEN: usize = 3;

    /// The first fields of `order`, as many as `values` has; of each value the low 24 bits count, and values
    /// beyond the third are left out.
    pub fn new(order: AccEcnOrder, values: &[u64]) -> AccEcnOption {
        let mut fields = [0; Self::FIELDS * Self::FIELD_LEN];
        for (field, value) in fields.chunks_exact_mut(Self::FIELD_LEN).zip(values) {
            field.copy_from_slice(&value.to_be_bytes()[8 - Self::FIELD_LEN..]);
        }
        let len = (values.len().min(Self::FIELDS) * Self::FIELD_LEN) as u8;
        AccEcnOption { order, len, fields }
    }

    /// The option that `body` holds, the bytes after kind and length. Whole fields count, and what follows them
    /// is padding (RFC 9768 §3.2.3).
    pub(super) fn from_body(order: AccEcnOrder, body: &[u8]) -> AccEcnOption {
        let mut fields = [0; Self::FIELDS * Self::FIELD_LEN];
        let len = body.len().min(fields.len()) / Self::FIELD_LEN * Self::FIELD_LEN;
        fields[..len].copy_from_slice(&body[..len]);
        AccEcnOption { order, len: len as u8, fields }
    }

    /// The bytes after kind and length.
    pub(super) fn body(&self) -> &[u8] {
        &self.fields[..usize::from(self.len)]
    }

    /// The bytes that the option takes in a header, with padding to a multiple of four.
    pub fn padded_len(&self) -> usize {
        (2 + usize::from(self.len)).next_multiple_of(4)
    }

    /// The order of the fields.
    pub fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// EE0B: bytes that arrived as ECT(0), modulo 2^24.
    pub fn ect0(&self) -> Option<u32> {
        self.field(match self.order {
            AccEcnOrder::Ect0First => 0,
            AccEcnOrder::Ect1First => 2,
        })
    }

    /// ECEB: bytes that arrived as CE, modulo 2^24.
    pub fn ce(&self) -> Option<u32> {
        self.field(1)
    }

    /// EE1B: bytes that arrived as ECT(1), modulo 2^24.
    pub fn ect1(&self) -> Option<u32> {
        self.field(match self.order {
            AccEcnOrder::Ect0First => 2,
            AccEcnOrder::Ect1First => 0,
        })
    }

    fn field(&self, index: usize) -> Option<u32> {
        let bytes = self.body().chunks_exact(Self::FIELD_LEN).nth(index)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}
