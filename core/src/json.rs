//! JSON in pieces: the tokens of a text of which nothing is at hand but what has just come.
//!
//! Strict (RFC 8259), without allocation and without recursion. A text that lies whole in its piece and has no
//! escapes is handed out as it stands there; others are put together in lent memory, whose length is also the bound
//! of every text. What is over the bound is marked as such: it is no error unless somebody wants it. Values may
//! follow each other, as in a watch.
//!
//! What is skipped is held to the grammar too, except that its texts need not be UTF-8 nor their surrogates paired.

mod number;
mod plain;

use number::Number;

/// Levels of lists and objects within each other. The API's own objects have about 20, managed fields included.
pub const LEVELS_MAX: u32 = 64;

/// What is wrong with a text.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another byte must stand here.
    Unexpected,
    /// A control character within a text.
    Control,
    /// A backslash before something that needs none, or half of a surrogate pair.
    Escape,
    /// More than [`LEVELS_MAX`] levels.
    TooDeep,
    /// A text that is wanted is no UTF-8.
    NotUtf8,
    /// A text that is wanted is longer than the memory for texts.
    TooLong,
}

impl Fault {
    /// In a few words, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unexpected => "no JSON: unexpected character",
            Self::Control => "no JSON: control character in a text",
            Self::Escape => "no JSON: invalid escape in a text",
            Self::TooDeep => "too many levels",
            Self::NotUtf8 => "a text that is no UTF-8",
            Self::TooLong => "a text that is too long",
        }
    }
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What.
    pub fault: Fault,
    /// Bytes of the stream before it.
    pub offset: u64,
}

/// What is left of a piece of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'p> {
    /// The bytes that were not looked at yet.
    pub rest: &'p [u8],
    /// Bytes of the stream up to the end of this piece.
    end: u64,
}

impl<'p> Piece<'p> {
    /// A piece before which the stream had so many bytes.
    #[must_use]
    pub const fn new(bytes: &'p [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len() as u64) }
    }

    /// Where in the stream the rest begins.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.end.wrapping_sub(self.rest.len() as u64)
    }

    const fn fail<T>(&self, fault: Fault) -> Result<T, Error> {
        Err(Error { fault, offset: self.offset() })
    }
}

/// A text or a key, its escapes resolved.
#[derive(Clone, Copy, Debug)]
pub struct Text<'t> {
    /// Not more than the bound if it is too long.
    bytes: &'t [u8],
    state: Held,
}

/// How far a text is known to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Ascii,
    Unchecked,
    TooLong,
}

impl<'t> Text<'t> {
    /// The empty text.
    pub const EMPTY: Self = Self { bytes: b"", state: Held::Ascii };

    /// Its bytes, which are UTF-8.
    ///
    /// # Errors
    /// [`Fault::TooLong`] and [`Fault::NotUtf8`].
    pub fn bytes(&self) -> Result<&'t [u8], Fault> {
        match self.state {
            Held::Ascii => Ok(self.bytes),
            Held::Unchecked => self.get().map(str::as_bytes),
            Held::TooLong => Err(Fault::TooLong),
        }
    }

    /// The text.
    ///
    /// # Errors
    /// [`Fault::TooLong`] and [`Fault::NotUtf8`].
    pub fn get(&self) -> Result<&'t str, Fault> {
        match self.state {
            Held::TooLong => Err(Fault::TooLong),
            _ => core::str::from_utf8(self.bytes).map_err(|_| Fault::NotUtf8),
        }
    }

    /// Whether it is this one.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.bytes == text.as_bytes() && self.state != Held::TooLong
    }
}

/// One token. Commas and colons are left out.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named as in RFC 8259")]
pub enum Token<'t> {
    ObjectBegin,
    ObjectEnd,
    ListBegin,
    ListEnd,
    /// The name of a member, whose value follows.
    Key(Text<'t>),
    Text(Text<'t>),
    /// As it is written.
    Number(Text<'t>),
    Bool(bool),
    Null,
}

/// A token whose text may still stand in the tokenizer's memory.
#[derive(Clone, Copy)]
enum Raw<'p> {
    ObjectBegin,
    ObjectEnd,
    ListBegin,
    ListEnd,
    Key(Place<'p>),
    Text(Place<'p>),
    Number(Place<'p>),
    Bool(bool),
    Null,
}

#[derive(Clone, Copy)]
enum Place<'p> {
    Piece(Text<'p>),
    Buffer,
}

/// What may stand next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// A value, or nothing more.
    Between,
    /// A value.
    Value,
    /// A value, or the end of a list.
    FirstItem,
    /// A key, or the end of an object.
    FirstKey,
    /// A key.
    Key,
    /// A colon.
    Colon,
    /// A comma, or the end of what is open.
    Comma,
}

/// A token of which only the beginning has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partial {
    None,
    Text {
        is_key: bool,
        /// It is wanted.
        keep: bool,
        escape: Escape,
        /// The first half of a surrogate pair; 0 for none.
        high: u16,
    },
    Number(Number),
    Literal {
        left: &'static [u8],
        word: Word,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    Backslash,
    Hex { digits: u8, value: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    const fn raw<'p>(self) -> Raw<'p> {
        match self {
            Self::True => Raw::Bool(true),
            Self::False => Raw::Bool(false),
            Self::Null => Raw::Null,
        }
    }
}

/// Turns pieces into tokens.
#[derive(Debug)]
pub struct Tokens<'m> {
    /// Texts that cross pieces or have escapes.
    buffer: &'m mut [u8],
    /// Bytes of the text under way, also of those for which there is no room.
    kept: usize,
    expect: Expect,
    partial: Partial,
    /// How many lists and objects are open.
    depth: u32,
    /// One bit for each of them, the innermost lowest: it is an object.
    objects: u64,
    /// What is skipped ends when no more than these are open.
    floor: u32,
    /// Where the last token began.
    begin: u64,
}

impl<'m> Tokens<'m> {
    /// Texts of at most `buffer.len()` bytes can be had.
    #[must_use]
    pub const fn new(buffer: &'m mut [u8]) -> Self {
        Self {
            buffer,
            kept: 0,
            expect: Expect::Between,
            partial: Partial::None,
            depth: 0,
            objects: 0,
            floor: 0,
            begin: 0,
        }
    }

    /// Forgets what is under way: a new stream begins, or the rest of this one is given up.
    pub const fn reset(&mut self) {
        self.expect = Expect::Between;
        self.partial = Partial::None;
        self.depth = 0;
        self.objects = 0;
    }

    /// Where in the stream the last token began.
    #[must_use]
    pub const fn begin(&self) -> u64 {
        self.begin
    }

    /// No value is under way.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.expect == Expect::Between && self.partial == Partial::None
    }

    /// The next token; `None` when the piece is used up.
    ///
    /// # Errors
    /// The rest of the piece then begins with what is wrong. Nothing more can be had before a [`Tokens::reset`].
    #[inline]
    pub fn next<'t, 'p: 't>(&'t mut self, piece: &mut Piece<'p>) -> Result<Option<Token<'t>>, Error> {
        let Some(raw) = self.advance::<true>(piece)? else { return Ok(None) };
        Ok(Some(self.shown(raw)))
    }

    /// The stream is at its end. Only a number can end with it, if it stands by itself.
    ///
    /// # Errors
    /// `Unexpected` if something else is under way.
    pub fn finish(&mut self, piece: &Piece<'_>) -> Result<Option<Token<'_>>, Error> {
        match self.partial {
            Partial::Number(number) if number.may_end() && self.depth == 0 => {
                self.partial = Partial::None;
                self.expect = Expect::Between;
                Ok(Some(self.shown(Raw::Number(Place::Buffer))))
            }
            Partial::None if self.expect == Expect::Between => Ok(None),
            _ => piece.fail(Fault::Unexpected),
        }
    }

    /// From here to the end of the next value, [`Tokens::skip`] skips. Asked for after a key or between items.
    pub const fn skip_value(&mut self) {
        self.floor = self.depth;
    }

    /// From here to the end of the list or object that has just begun, [`Tokens::skip`] skips.
    pub const fn skip_rest(&mut self) {
        self.floor = self.depth.saturating_sub(1);
    }

    /// Goes on skipping; whether all is skipped that was asked for. If not, the piece is used up.
    ///
    /// # Errors
    /// As [`Tokens::next`].
    pub fn skip(&mut self, piece: &mut Piece<'_>) -> Result<bool, Error> {
        loop {
            if self.advance::<false>(piece)?.is_none() {
                return Ok(false);
            }
            if self.depth <= self.floor {
                return Ok(true);
            }
        }
    }

    fn shown<'t>(&'t self, raw: Raw<'t>) -> Token<'t> {
        match raw {
            Raw::ObjectBegin => Token::ObjectBegin,
            Raw::ObjectEnd => Token::ObjectEnd,
            Raw::ListBegin => Token::ListBegin,
            Raw::ListEnd => Token::ListEnd,
            Raw::Key(place) => Token::Key(self.text_at(place)),
            Raw::Text(place) => Token::Text(self.text_at(place)),
            Raw::Number(place) => Token::Number(self.text_at(place)),
            Raw::Bool(value) => Token::Bool(value),
            Raw::Null => Token::Null,
        }
    }

    fn text_at<'t>(&'t self, place: Place<'t>) -> Text<'t> {
        match place {
            Place::Piece(text) if text.bytes.len() <= self.buffer.len() => text,
            Place::Piece(text) => Text { state: Held::TooLong, ..text },
            Place::Buffer => match self.buffer.get(..self.kept) {
                Some(bytes) => Text { bytes, state: Held::Unchecked },
                None => Text { bytes: self.buffer, state: Held::TooLong },
            },
        }
    }

    const fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    #[inline(always)]
    fn advance<'p, const KEEP: bool>(&mut self, piece: &mut Piece<'p>) -> Result<Option<Raw<'p>>, Error> {
        if self.partial != Partial::None {
            return self.resume(piece);
        }
        loop {
            let Some((&byte, rest)) = piece.rest.split_first() else { return Ok(None) };
            if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                piece.rest = rest;
                continue;
            }
            match self.expect {
                Expect::Comma => match byte {
                    b',' => {
                        piece.rest = rest;
                        self.expect = if self.in_object() { Expect::Key } else { Expect::Value };
                    }
                    b'}' | b']' => return self.end(byte, piece, rest),
                    _ => return piece.fail(Fault::Unexpected),
                },
                Expect::Colon if byte == b':' => {
                    piece.rest = rest;
                    self.expect = Expect::Value;
                }
                Expect::Key | Expect::FirstKey if byte == b'"' => {
                    self.begin = piece.offset();
                    piece.rest = rest;
                    return self.text::<KEEP>(true, piece);
                }
                Expect::FirstKey if byte == b'}' => return self.end(byte, piece, rest),
                Expect::FirstItem if byte == b']' => return self.end(byte, piece, rest),
                Expect::Key | Expect::FirstKey | Expect::Colon => return piece.fail(Fault::Unexpected),
                Expect::Value | Expect::FirstItem | Expect::Between => {
                    self.begin = piece.offset();
                    return self.value::<KEEP>(byte, piece, rest);
                }
            }
        }
    }

    #[inline(always)]
    fn value<'p, const KEEP: bool>(
        &mut self,
        byte: u8,
        piece: &mut Piece<'p>,
        rest: &'p [u8],
    ) -> Result<Option<Raw<'p>>, Error> {
        match byte {
            b'"' => {
                piece.rest = rest;
                self.text::<KEEP>(false, piece)
            }
            b'{' | b'[' => {
                if self.depth == LEVELS_MAX {
                    return piece.fail(Fault::TooDeep);
                }
                piece.rest = rest;
                let is_object = byte == b'{';
                self.depth = self.depth.wrapping_add(1);
                self.objects = self.objects.wrapping_shl(1) | u64::from(is_object);
                self.expect = if is_object { Expect::FirstKey } else { Expect::FirstItem };
                Ok(Some(if is_object { Raw::ObjectBegin } else { Raw::ListBegin }))
            }
            b't' => self.literal(b"rue", Word::True, piece, rest),
            b'f' => self.literal(b"alse", Word::False, piece, rest),
            b'n' => self.literal(b"ull", Word::Null, piece, rest),
            b'-' | b'0'..=b'9' => self.number(piece),
            _ => piece.fail(Fault::Unexpected),
        }
    }

    #[inline(always)]
    fn end<'p>(
        &mut self,
        byte: u8,
        piece: &mut Piece<'p>,
        rest: &'p [u8],
    ) -> Result<Option<Raw<'p>>, Error> {
        let is_object = byte == b'}';
        if is_object != self.in_object() {
            return piece.fail(Fault::Unexpected);
        }
        self.begin = piece.offset();
        piece.rest = rest;
        self.depth = self.depth.wrapping_sub(1);
        self.objects = self.objects.wrapping_shr(1);
        self.end_value();
        Ok(Some(if is_object { Raw::ObjectEnd } else { Raw::ListEnd }))
    }

    #[inline(always)]
    const fn end_value(&mut self) {
        self.expect = if self.depth == 0 { Expect::Between } else { Expect::Comma };
    }

    /// A text after its quote.
    #[inline(always)]
    fn text<'p, const KEEP: bool>(
        &mut self,
        is_key: bool,
        piece: &mut Piece<'p>,
    ) -> Result<Option<Raw<'p>>, Error> {
        let (bytes, rest, is_ascii) = plain::split(piece.rest);
        let Some((b'"', rest)) = rest.split_first() else {
            self.partial = Partial::Text { is_key, keep: KEEP, escape: Escape::None, high: 0 };
            self.kept = 0;
            return self.resume(piece);
        };
        piece.rest = rest;
        let state = if is_ascii { Held::Ascii } else { Held::Unchecked };
        let place = Place::Piece(Text { bytes, state });
        if !is_key {
            self.end_value();
            return Ok(Some(Raw::Text(place)));
        }
        self.expect = Expect::Colon;
        if let Some((b':', rest)) = rest.split_first() {
            piece.rest = rest;
            self.expect = Expect::Value;
        }
        Ok(Some(Raw::Key(place)))
    }

    #[inline(always)]
    fn literal<'p>(
        &mut self,
        left: &'static [u8],
        word: Word,
        piece: &mut Piece<'p>,
        rest: &'p [u8],
    ) -> Result<Option<Raw<'p>>, Error> {
        if let Some(rest) = rest.strip_prefix(left) {
            piece.rest = rest;
            self.end_value();
            return Ok(Some(word.raw()));
        }
        piece.rest = rest;
        self.partial = Partial::Literal { left, word };
        self.resume(piece)
    }

    /// A number from its first byte on. It ends before the first byte that is no part of it.
    #[inline(always)]
    fn number<'p>(&mut self, piece: &mut Piece<'p>) -> Result<Option<Raw<'p>>, Error> {
        let (number, bytes, rest) = Number::Begin.split(piece.rest);
        piece.rest = rest;
        if rest.is_empty() {
            self.partial = Partial::Number(number);
            self.kept = 0;
            self.keep(bytes);
            return Ok(None);
        }
        if !number.may_end() {
            return piece.fail(Fault::Unexpected);
        }
        self.end_value();
        Ok(Some(Raw::Number(Place::Piece(Text { bytes, state: Held::Ascii }))))
    }

    /// Goes on with the token of which only the beginning has come, or which has escapes.
    #[cold]
    fn resume<'p>(&mut self, piece: &mut Piece<'p>) -> Result<Option<Raw<'p>>, Error> {
        match self.partial {
            Partial::None => Ok(None),
            Partial::Text { is_key, keep, escape, high } => {
                let ended = self.resume_text(keep, escape, high, piece)?;
                if !ended {
                    return Ok(None);
                }
                self.partial = Partial::None;
                if is_key {
                    self.expect = Expect::Colon;
                    return Ok(Some(Raw::Key(Place::Buffer)));
                }
                self.end_value();
                Ok(Some(Raw::Text(Place::Buffer)))
            }
            Partial::Number(number) => {
                let (number, bytes, rest) = number.split(piece.rest);
                self.keep(bytes);
                piece.rest = rest;
                if rest.is_empty() {
                    self.partial = Partial::Number(number);
                    return Ok(None);
                }
                if !number.may_end() {
                    return piece.fail(Fault::Unexpected);
                }
                self.partial = Partial::None;
                self.end_value();
                Ok(Some(Raw::Number(Place::Buffer)))
            }
            Partial::Literal { mut left, word } => {
                while let Some((expected, after)) = left.split_first() {
                    let Some((byte, rest)) = piece.rest.split_first() else {
                        self.partial = Partial::Literal { left, word };
                        return Ok(None);
                    };
                    if byte != expected {
                        return piece.fail(Fault::Unexpected);
                    }
                    (left, piece.rest) = (after, rest);
                }
                self.partial = Partial::None;
                self.end_value();
                Ok(Some(word.raw()))
            }
        }
    }

    /// Whether the text has ended. If not, the piece is used up.
    fn resume_text(
        &mut self,
        keep: bool,
        mut escape: Escape,
        mut high: u16,
        piece: &mut Piece<'_>,
    ) -> Result<bool, Error> {
        loop {
            if escape == Escape::None {
                let (bytes, rest, _) = plain::split(piece.rest);
                if keep {
                    if high != 0 && !bytes.is_empty() {
                        return piece.fail(Fault::Escape);
                    }
                    self.keep(bytes);
                }
                piece.rest = rest;
            }
            let Some((&byte, rest)) = piece.rest.split_first() else {
                if let Partial::Text { escape: kept_escape, high: kept_high, .. } = &mut self.partial {
                    (*kept_escape, *kept_high) = (escape, high);
                }
                return Ok(false);
            };
            match escape {
                Escape::None => match byte {
                    b'\\' => escape = Escape::Backslash,
                    b'"' if high != 0 => return piece.fail(Fault::Escape),
                    b'"' => {
                        piece.rest = rest;
                        return Ok(true);
                    }
                    _ => return piece.fail(Fault::Control),
                },
                Escape::Backslash if byte == b'u' => escape = Escape::Hex { digits: 0, value: 0 },
                Escape::Backslash => {
                    let Some(byte) = unescaped(byte).filter(|_| high == 0) else {
                        return piece.fail(Fault::Escape);
                    };
                    if keep {
                        self.keep(&[byte]);
                    }
                    escape = Escape::None;
                }
                Escape::Hex { digits, value } => {
                    let Some(digit) = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok())
                    else {
                        return piece.fail(Fault::Escape);
                    };
                    let value = value.wrapping_shl(4) | digit;
                    escape = Escape::Hex { digits: digits.wrapping_add(1), value };
                    if digits == 3 {
                        escape = Escape::None;
                        if keep {
                            high = match self.keep_unit(high, value) {
                                Some(high) => high,
                                None => return piece.fail(Fault::Escape),
                            };
                        }
                    }
                }
            }
            piece.rest = rest;
        }
    }

    /// Takes one unit of UTF-16 after the first half of a pair, or after none. The first half of a pair, if it is one.
    fn keep_unit(&mut self, high: u16, unit: u16) -> Option<u16> {
        let code = match (high, unit) {
            (0, 0xd800..=0xdbff) => return Some(unit),
            (0, 0xdc00..=0xdfff) => return None,
            (0, _) => u32::from(unit),
            (_, 0xdc00..=0xdfff) => {
                let (high, low) = (u32::from(high) & 0x3ff, u32::from(unit) & 0x3ff);
                (high.wrapping_shl(10) | low).wrapping_add(0x1_0000)
            }
            _ => return None,
        };
        self.keep_code(code);
        Some(0)
    }

    fn keep_code(&mut self, code: u32) {
        let bits = |shift: u32, mask: u32, mark: u8| {
            mark | u8::try_from(code.wrapping_shr(shift) & mask).unwrap_or_default()
        };
        match code {
            0..0x80 => self.keep(&[bits(0, 0x7f, 0)]),
            0x80..0x800 => self.keep(&[bits(6, 0x1f, 0xc0), bits(0, 0x3f, 0x80)]),
            0x800..0x1_0000 => self.keep(&[bits(12, 0x0f, 0xe0), bits(6, 0x3f, 0x80), bits(0, 0x3f, 0x80)]),
            _ => self.keep(&[
                bits(18, 0x07, 0xf0),
                bits(12, 0x3f, 0x80),
                bits(6, 0x3f, 0x80),
                bits(0, 0x3f, 0x80),
            ]),
        }
    }

    /// Adds to the text under way. What goes over the bound is only counted.
    fn keep(&mut self, bytes: &[u8]) {
        if let Some(room) = self.buffer.get_mut(self.kept..) {
            for (to, from) in room.iter_mut().zip(bytes) {
                *to = *from;
            }
        }
        self.kept = self.kept.saturating_add(bytes.len());
    }
}

/// What a backslash before this byte means.
const fn unescaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
