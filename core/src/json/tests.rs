use super::*;
use serde_json::{Map, Number as JsonNumber, Value};

/// What a text is as a tree, or where it is wrong. The text comes in pieces of these lengths, again and again.
fn tree(text: &[u8], lengths: &[usize]) -> Result<Value, Error> {
    let mut buffer = [0; 4096];
    let mut tokens = Tokens::new(&mut buffer);
    let mut open: Vec<(Value, String)> = Vec::new();
    let mut whole = None;
    let mut offset = 0;
    let mut lengths = lengths.iter().cycle();
    loop {
        let end = text.len().min(offset + lengths.next().unwrap());
        let mut piece = Piece::new(&text[offset..end], offset as u64);
        offset = end;
        loop {
            let at = piece.offset();
            let token = match tokens.next(&mut piece)? {
                Some(token) => token,
                None if offset < text.len() => break,
                None => match tokens.finish(&piece)? {
                    Some(token) => token,
                    None => return whole.ok_or(Error { fault: Fault::Unexpected, offset: offset as u64 }),
                },
            };
            let fail = |fault| Error { fault, offset: at };
            if whole.is_some() {
                return Err(Error { fault: Fault::Unexpected, offset: tokens.begin() });
            }
            let value = match token {
                Token::ObjectBegin => {
                    open.push((Value::Object(Map::new()), String::new()));
                    continue;
                }
                Token::ListBegin => {
                    open.push((Value::Array(Vec::new()), String::new()));
                    continue;
                }
                Token::Key(text) => {
                    open.last_mut().unwrap().1 = text.get().map_err(fail)?.to_owned();
                    continue;
                }
                Token::ObjectEnd | Token::ListEnd => open.pop().unwrap().0,
                Token::Text(text) => Value::String(text.get().map_err(fail)?.to_owned()),
                Token::Number(text) => number(text.get().map_err(fail)?),
                Token::Bool(value) => Value::Bool(value),
                Token::Null => Value::Null,
            };
            match open.last_mut() {
                None => whole = Some(value),
                Some((Value::Object(members), key)) => drop(members.insert(key.clone(), value)),
                Some((Value::Array(items), _)) => items.push(value),
                Some(_) => panic!("only lists and objects are open"),
            }
        }
    }
}

/// A number that is too large for serde_json is none for it: then its text.
fn number(text: &str) -> Value {
    match text.parse::<JsonNumber>() {
        Ok(number) => Value::Number(number),
        Err(_) => Value::String(text.to_owned()),
    }
}

/// The same by skipping: whether it is taken.
fn skipped(text: &[u8], length: usize) -> Result<(), Error> {
    let mut buffer = [0; 0];
    let mut tokens = Tokens::new(&mut buffer);
    let mut offset = 0;
    tokens.skip_value();
    for bytes in text.chunks(length) {
        let mut piece = Piece::new(bytes, offset);
        while tokens.skip(&mut piece)? {}
        offset += bytes.len() as u64;
    }
    tokens.finish(&Piece::new(&[], offset)).map(drop)
}

/// The two agree: they take the same and make the same of it, however the text is cut.
fn agree(text: &[u8]) {
    let ours = tree(text, &[usize::MAX / 2]);
    for lengths in [&[1][..], &[3, 1, 7], &[16]] {
        let cut = tree(text, lengths);
        assert_eq!(ours.as_ref().map_err(|e| e.fault), cut.as_ref().map_err(|e| e.fault), "{}", shown(text));
        if let (Err(ours), Err(cut)) = (&ours, &cut)
            && !matches!(ours.fault, Fault::NotUtf8)
            && text.len() as u64 != ours.offset
        {
            assert_eq!(ours.offset, cut.offset, "{}", shown(text));
        }
    }
    if ours.is_ok() {
        skipped(text, 5).unwrap_or_else(|error| panic!("{error:?} in {}", shown(text)));
    }
    match (serde_json::from_slice::<Value>(text), ours) {
        (Ok(theirs), Ok(ours)) => assert_eq!(ours, theirs, "{}", shown(text)),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) if error.fault == Fault::TooDeep => {}
        (Err(error), Ok(_)) if error.to_string().starts_with("number out of range") => {}
        (theirs, ours) => panic!("{ours:?} but {theirs:?} of {}", shown(text)),
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn refused(text: &str) -> (Fault, u64) {
    let error = tree(text.as_bytes(), &[usize::MAX / 2]).expect_err("refused");
    (error.fault, error.offset)
}

/// A small generator: the tests need the same numbers each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

#[test]
fn texts_of_every_shape_are_read_as_by_serde_json() {
    for text in [
        "null", "true", "false", "0", "-0", "12", "-1.5", "1e9", "1E-2", "0.0e+5", "\"\"", "\"web\"", "[]", "{}",
        " [ ] ", "{ }", "[1,2]", "{\"a\":1}", "{\"a\" : { \"b\" :[ null , true,false ] } }", "\t\r\n1\n",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "\"é€😀\"", "\"\\u0000\"",
        "{\"\\u0061\":1}", "{\"a\":1,\"a\":2}", "[[[[[[[[[[]]]]]]]]]]", "\"a text that is longer than eight bytes\"",
    ] {
        assert!(tree(text.as_bytes(), &[100]).is_ok(), "{text}");
        agree(text.as_bytes());
    }
}

#[test]
fn what_is_no_json_is_refused_where_it_is_wrong() {
    use Fault::*;
    for (text, fault, offset) in [
        ("", Unexpected, 0),
        ("nul", Unexpected, 3),
        ("nulL", Unexpected, 3),
        ("[1,]", Unexpected, 3),
        ("[1 2]", Unexpected, 3),
        ("[,1]", Unexpected, 1),
        ("{,}", Unexpected, 1),
        ("{\"a\"}", Unexpected, 4),
        ("{\"a\":}", Unexpected, 5),
        ("{\"a\":1,}", Unexpected, 7),
        ("{a:1}", Unexpected, 1),
        ("[1}", Unexpected, 2),
        ("{\"a\":1]", Unexpected, 6),
        ("]", Unexpected, 0),
        ("[", Unexpected, 1),
        ("01", Unexpected, 1),
        ("-", Unexpected, 1),
        ("1.", Unexpected, 2),
        ("[1.]", Unexpected, 3),
        ("[.5]", Unexpected, 1),
        ("[+1]", Unexpected, 1),
        ("[1e]", Unexpected, 3),
        ("\"a", Unexpected, 2),
        ("\"a\n\"", Control, 2),
        ("\"\\x\"", Escape, 2),
        ("\"\\u12g4\"", Escape, 5),
        ("\"\\ud800\"", Escape, 7),
        ("\"\\ud800a\"", Escape, 7),
        ("\"\\ud800\\n\"", Escape, 8),
        ("\"\\udc00\"", Escape, 6),
        ("1 2", Unexpected, 2),
        ("\u{feff}1", Unexpected, 0),
        ("'a'", Unexpected, 0),
        ("/**/1", Unexpected, 0),
        ("NaN", Unexpected, 0),
        ("\u{b}1", Unexpected, 0),
    ] {
        assert_eq!(refused(text), (fault, offset), "{text:?}");
        agree(text.as_bytes());
    }
}

#[test]
fn a_wanted_text_is_utf_8() {
    for bytes in [&b"\"\xff\""[..], b"\"\xc3\"", b"\"\xed\xa0\x80\"", b"\"\xf0\x9f\x98\"", b"{\"\xff\":1}"] {
        assert_eq!(tree(bytes, &[100]).expect_err("refused").fault, Fault::NotUtf8);
        agree(bytes);
        assert_eq!(skipped(bytes, 2), Ok(()));
    }
}

#[test]
fn sixty_four_levels_are_enough() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(tree(nested(64).as_bytes(), &[7]).is_ok());
    assert_eq!(refused(&nested(65)), (Fault::TooDeep, 64));
}

#[test]
fn a_text_over_the_bound_is_an_error_only_where_it_is_wanted() {
    let of = |text: &str, length: usize| {
        let mut buffer = [0; 8];
        let mut tokens = Tokens::new(&mut buffer);
        let mut offset = 0;
        for bytes in text.as_bytes().chunks(length) {
            let mut piece = Piece::new(bytes, offset);
            offset += bytes.len() as u64;
            match tokens.next(&mut piece).expect("a token") {
                Some(Token::Text(text)) => return text.get().map(str::to_owned),
                Some(_) => panic!("a text"),
                None => {}
            }
        }
        panic!("no token")
    };
    for length in [1, 3, 100] {
        assert_eq!(of("\"12345678\"", length), Ok("12345678".to_owned()));
        assert_eq!(of("\"123456789\"", length), Err(Fault::TooLong));
        assert_eq!(of("\"1234567\\u0038\"", length), Ok("12345678".to_owned()));
        assert_eq!(of("\"12345678\\u0039\"", length), Err(Fault::TooLong));
    }
}

#[test]
fn what_is_skipped_is_passed_by_whole() {
    let text = br#"{"skip":{"a":["}]\"",{"b":1.5e3}],"c":null},"next":[[1,2],3],"last":true}"#;
    for length in [1, 2, 5, 1000] {
        let mut buffer = [0; 16];
        let mut tokens = Tokens::new(&mut buffer);
        let mut seen = String::new();
        let (mut skips, mut offset) = (false, 0);
        for bytes in text.chunks(length) {
            let mut piece = Piece::new(bytes, offset);
            offset += bytes.len() as u64;
            loop {
                if skips {
                    skips = !tokens.skip(&mut piece).expect("good JSON");
                    if skips {
                        break;
                    }
                }
                match tokens.next(&mut piece).expect("good JSON") {
                    None => break,
                    Some(Token::Key(key)) if key.is("skip") => {
                        tokens.skip_value();
                        skips = true;
                    }
                    Some(Token::ListBegin) => {
                        tokens.skip_rest();
                        skips = true;
                    }
                    Some(Token::Key(key)) => seen += key.get().expect("UTF-8"),
                    Some(token) => seen += &format!(" {token:?} "),
                }
            }
        }
        assert_eq!(seen, " ObjectBegin nextlast Bool(true)  ObjectEnd ", "in pieces of {length}");
    }
}

/// A random value as text, with blanks and escapes where they may be.
fn random_text(random: &mut Random, levels: usize, text: &mut String) {
    let blank = |random: &mut Random, text: &mut String| text.push_str(random.pick(&["", "", "", " ", "\n\t"]));
    blank(random, text);
    match random.below(if levels == 0 { 6 } else { 9 }) {
        0 => text.push_str(random.pick(&["null", "true", "false"])),
        1 => text.push_str(random.pick(&["0", "-0", "7", "65536", "-1.5", "2e3", "1.25E-7", "123456789012345678901"])),
        2..6 => random_string(random, text),
        6 => {
            text.push('[');
            for index in 0..random.below(5) {
                text.push_str(if index > 0 { "," } else { "" });
                random_text(random, levels - 1, text);
            }
            text.push(']');
        }
        _ => {
            text.push('{');
            for index in 0..random.below(5) {
                text.push_str(if index > 0 { "," } else { "" });
                blank(random, text);
                random_string(random, text);
                blank(random, text);
                text.push(':');
                random_text(random, levels - 1, text);
            }
            text.push('}');
        }
    }
    blank(random, text);
}

fn random_string(random: &mut Random, text: &mut String) {
    text.push('"');
    for _ in 0..random.below(4) {
        let part = ["a", "web-7d9f8", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "😀", "\\\"", "key", "{[", "a longer text"];
        text.push_str(random.pick(&part));
    }
    text.push('"');
}

#[test]
fn random_and_broken_texts_are_taken_and_refused_as_by_serde_json() {
    let mut random = Random(1);
    for _ in 0..20_000 {
        let mut text = String::new();
        random_text(&mut random, 5, &mut text);
        agree(text.as_bytes());
        let mut bytes = text.into_bytes();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() + 1);
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random.pick(b"\"\\{}[],:0-eEu \n\x00\xff")),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = random.pick(b"\"\\{}[],:09-+.eEudtrn \x1f\x80");
                    }
                }
            }
        }
        agree(&bytes);
    }
}

#[test]
fn random_bytes_never_do_harm() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let length = random.below(60);
        let bytes: Vec<u8> = (0..length).map(|_| random.pick(b"\"\\{}[],:019-+.eEudtrufalsn \n\xc3\xa9")).collect();
        agree(&bytes);
    }
}
