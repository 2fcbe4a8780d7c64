//! Finds the tokens of one JSON record in bytes that may end in the middle of it.
//!
//! It checks the whole grammar (RFC 8259) and says where each member of the record and of its data starts
//! and ends; it converts nothing and knows no types. Bytes are UTF-8 checked by the caller, per record.

/// Levels of nesting that are read. No property type needs more than two.
const MAX_DEPTH: usize = 64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    /// Without escapes.
    Plain,
    /// A string with escapes.
    Escaped,
    Array,
    Object,
}

impl Kind {
    /// Its name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::True => "true",
            Self::False => "false",
            Self::Number => "a number",
            Self::Plain | Self::Escaped => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A value and where it stands, in bytes from the start of the scanned slice. A string stands between its
/// quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// One member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub key: Token,
    pub value: Token,
}

/// Why scanning stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end inside the value.
    Incomplete,
    /// The byte at this position is wrong, and why.
    Syntax(usize, &'static str),
}

/// The members of one record: of the record itself, and of the object under `data`.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub envelope: Vec<Member>,
    pub data: Vec<Member>,
}

impl Record {
    /// Scans the record that starts at the first byte and returns its length.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        self.envelope.clear();
        self.data.clear();
        let mut scanner = Scanner { bytes, pos: 0 };
        scanner.expect(b'{', "a record is an object; records stand one after another, without commas or brackets")?;
        let mut more = scanner.open(b'}')?;
        while more {
            let key = scanner.key()?;
            let is_data = is_named(bytes, key, "data");
            let value = if is_data && scanner.peek()? == b'{' {
                let start = scanner.pos;
                scanner.pos += 1;
                scanner.object(1, Some(&mut self.data))?;
                Token { kind: Kind::Object, start, end: scanner.pos }
            } else {
                scanner.value(1)?
            };
            self.envelope.push(Member { key, value });
            more = scanner.next(b'}')?;
        }
        Ok(scanner.pos)
    }
}

fn is_named(bytes: &[u8], key: Token, name: &str) -> bool {
    let raw = &bytes[key.start..key.end];
    if key.kind == Kind::Plain {
        return raw == name.as_bytes();
    }
    let mut decoded = String::new();
    unescape(std::str::from_utf8(raw).unwrap_or_default(), &mut decoded);
    decoded == name
}

/// Gives the elements of the array that `text` holds to `each`, with their positions in it.
pub(super) fn elements<E>(text: &str, mut each: impl FnMut(Token) -> Result<(), E>) -> Result<Result<(), E>, Stop> {
    let mut scanner = Scanner { bytes: text.as_bytes(), pos: 0 };
    scanner.expect(b'[', "an array starts with [")?;
    let mut more = scanner.open(b']')?;
    while more {
        let token = scanner.value(1)?;
        if let Err(stop) = each(token) {
            return Ok(Err(stop));
        }
        more = scanner.next(b']')?;
    }
    scanner.blanks();
    match scanner.pos == text.len() {
        true => Ok(Ok(())),
        false => Err(Stop::Syntax(scanner.pos, "nothing may follow the array")),
    }
}

/// The string that stands at `token`; `scratch` holds it if it had escapes.
pub(super) fn string<'a>(text: &'a str, token: Token, scratch: &'a mut String) -> &'a str {
    let raw = &text[token.start..token.end];
    if token.kind != Kind::Escaped {
        return raw;
    }
    scratch.clear();
    unescape(raw, scratch);
    scratch
}

// The scanner has checked every escape, so what cannot be decoded cannot occur.
fn unescape(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.as_bytes().get(at + 1).copied().unwrap_or_default();
        let mut length = 2;
        let decoded = match code {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                length = 6;
                let mut unit = hex(rest, at + 2);
                if (0xd800..0xdc00).contains(&unit) {
                    length = 12;
                    unit = 0x10000 + ((unit - 0xd800) << 10) + (hex(rest, at + 8).wrapping_sub(0xdc00) & 0x3ff);
                }
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other as char,
        };
        out.push(decoded);
        rest = rest.get(at + length..).unwrap_or_default();
    }
    out.push_str(rest);
}

fn hex(text: &str, at: usize) -> u32 {
    text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl Scanner<'_> {
    fn syntax<T>(&self, what: &'static str) -> Result<T, Stop> {
        Err(Stop::Syntax(self.pos, what))
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
    }

    /// The next byte that is not blank, not taken.
    fn peek(&mut self) -> Result<u8, Stop> {
        self.blanks();
        self.bytes.get(self.pos).copied().ok_or(Stop::Incomplete)
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Stop> {
        if self.peek()? != byte {
            return self.syntax(what);
        }
        self.pos += 1;
        Ok(())
    }

    /// After an opening bracket: whether anything stands before the closing one.
    fn open(&mut self, close: u8) -> Result<bool, Stop> {
        let empty = self.peek()? == close;
        self.pos += usize::from(empty);
        Ok(!empty)
    }

    /// After a member or element: whether another one follows.
    fn next(&mut self, close: u8) -> Result<bool, Stop> {
        let byte = self.peek()?;
        if byte != b',' && byte != close {
            return match close {
                b'}' => self.syntax("expected , or } after a member"),
                _ => self.syntax("expected , or ] after an element"),
            };
        }
        self.pos += 1;
        Ok(byte == b',')
    }

    fn key(&mut self) -> Result<Token, Stop> {
        self.expect(b'"', "expected a name in double quotes")?;
        let key = self.string()?;
        self.expect(b':', "expected : after a name")?;
        Ok(key)
    }

    fn value(&mut self, depth: usize) -> Result<Token, Stop> {
        let first = self.peek()?;
        let start = self.pos;
        let kind = match first {
            b'"' => {
                self.pos += 1;
                return self.string();
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b'n' => self.literal(b"null", Kind::Null)?,
            b't' => self.literal(b"true", Kind::True)?,
            b'f' => self.literal(b"false", Kind::False)?,
            b'{' | b'[' if depth >= MAX_DEPTH => {
                return self.syntax("values are nested too deeply");
            }
            b'{' => {
                self.pos += 1;
                self.object(depth, None)?;
                Kind::Object
            }
            b'[' => {
                self.pos += 1;
                let mut more = self.open(b']')?;
                while more {
                    self.value(depth + 1)?;
                    more = self.next(b']')?;
                }
                Kind::Array
            }
            _ => return self.syntax("expected a value"),
        };
        Ok(Token { kind, start, end: self.pos })
    }

    /// The rest of an object after its opening bracket.
    fn object(&mut self, depth: usize, mut members: Option<&mut Vec<Member>>) -> Result<(), Stop> {
        let mut more = self.open(b'}')?;
        while more {
            let key = self.key()?;
            let value = self.value(depth + 1)?;
            if let Some(members) = members.as_deref_mut() {
                members.push(Member { key, value });
            }
            more = self.next(b'}')?;
        }
        Ok(())
    }

    fn literal(&mut self, text: &'static [u8], kind: Kind) -> Result<Kind, Stop> {
        for byte in text {
            match self.bytes.get(self.pos) {
                Some(found) if found == byte => self.pos += 1,
                Some(_) => return self.syntax("expected a value"),
                None => return Err(Stop::Incomplete),
            }
        }
        Ok(kind)
    }

    fn number(&mut self) -> Result<Kind, Stop> {
        if self.bytes.get(self.pos) == Some(&b'-') {
            self.pos += 1;
        }
        let zero = self.bytes.get(self.pos) == Some(&b'0');
        let start = self.pos;
        self.digits()?;
        if zero && self.pos > start + 1 {
            self.pos = start + 1;
            return self.syntax("a number does not start with a zero that another digit follows");
        }
        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.pos) {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.pos) {
                self.pos += 1;
            }
            self.digits()?;
        }
        // A number has no closing mark: at the end of the bytes nobody knows whether it goes on.
        if self.pos == self.bytes.len() { Err(Stop::Incomplete) } else { Ok(Kind::Number) }
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
        match self.pos > start {
            true => Ok(()),
            false if self.pos == self.bytes.len() => Err(Stop::Incomplete),
            false => self.syntax("expected a digit"),
        }
    }

    /// The rest of a string after its opening quote.
    fn string(&mut self) -> Result<Token, Stop> {
        let start = self.pos;
        let mut kind = Kind::Plain;
        loop {
            self.pos += plain_length(&self.bytes[self.pos..]);
            match self.bytes.get(self.pos) {
                None => return Err(Stop::Incomplete),
                Some(b'"') => {
                    let end = self.pos;
                    self.pos += 1;
                    return Ok(Token { kind, start, end });
                }
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    self.escape()?;
                }
                Some(b'\n') => return self.syntax("a string ends on the line it starts on"),
                Some(_) => return self.syntax("a control character in a string must be escaped"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        match self.bytes.get(self.pos + 1) {
            None => Err(Stop::Incomplete),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                Ok(())
            }
            Some(b'u') => match self.unit(0)? {
                0xd800..=0xdbff => match self.unit(6)? {
                    0xdc00..=0xdfff => {
                        self.pos += 12;
                        Ok(())
                    }
                    _ => self.syntax(LONE_SURROGATE),
                },
                0xdc00..=0xdfff => self.syntax(LONE_SURROGATE),
                _ => {
                    self.pos += 6;
                    Ok(())
                }
            },
            Some(_) => self.syntax("no such escape"),
        }
    }

    /// The code unit of the `\uXXXX` that stands this many bytes ahead.
    fn unit(&self, ahead: usize) -> Result<u32, Stop> {
        let at = self.pos + ahead;
        let mut unit = 0;
        for offset in 0..6 {
            let byte = *self.bytes.get(at + offset).ok_or(Stop::Incomplete)?;
            match (offset, byte, (byte as char).to_digit(16)) {
                (0, b'\\', _) | (1, b'u', _) => {}
                (2.., _, Some(digit)) => unit = unit * 16 + digit,
                (0 | 1, ..) => return Err(Stop::Syntax(self.pos, LONE_SURROGATE)),
                _ => {
                    return Err(Stop::Syntax(self.pos, "\\u is followed by four hexadecimal digits"));
                }
            }
        }
        Ok(unit)
    }
}

const LONE_SURROGATE: &str = "half of a surrogate pair is not a character";

/// Bytes before the first one that ends or escapes a string or may not stand in one. Looks at eight bytes
/// at a time: a byte below 32, or equal to `"` or `\`, sets its high bit in `marks`. A false mark can only
/// stand above a true one, and the lowest is taken.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut length = 0;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let marks = (control | zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64))) & HIGH;
        if marks != 0 {
            return length + (marks.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = chunks.remainder();
    length + rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
