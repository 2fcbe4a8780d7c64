//! The comments of a file, whatever its language, with their lines.

/// One line of a comment, without its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Comments of the file at `path`; none for a language without a known marker.
pub(crate) fn comments(path: &str, text: &str) -> Vec<Comment> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "rs" => slash_comments(text, true),
        "proto" | "ts" | "js" | "go" | "java" | "pg" => slash_comments(text, false),
        "toml" | "yaml" | "yml" | "sh" | "py" => hash_comments(text),
        _ if ["Makefile", "Dockerfile"].contains(&name) || text.starts_with("#!") => hash_comments(text),
        _ => Vec::new(),
    }
}

/// `#` to the end of the line, when it starts a word outside quotes.
fn hash_comments(text: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut quote = None;
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            match quote {
                Some(open) if c == open && before != '\\' => quote = None,
                Some(_) => {}
                None if c == '#' && before.is_whitespace() => {
                    push_lines(&mut found, index + 1, &line[at + 1..]);
                    break;
                }
                None if c == '"' || c == '\'' => quote = Some(c),
                None => {}
            }
            before = c;
        }
    }
    found
}

/// `//` and `/* */` outside literals. `rust` turns on nesting, raw strings and lifetimes.
fn slash_comments(text: &str, rust: bool) -> Vec<Comment> {
    let mut scan = Scan { text, at: 0, line: 1, rust };
    let mut found = Vec::new();
    while let Some(c) = scan.peek(0) {
        match c {
            '/' if scan.peek(1) == Some('/') => {
                let line = scan.line;
                let body = scan.take_while(|c| c != '\n');
                push_lines(&mut found, line, body.trim_start_matches(['/', '!']));
            }
            '/' if scan.peek(1) == Some('*') => {
                let line = scan.line;
                push_lines(&mut found, line, scan.block());
            }
            '"' => scan.quoted('"'),
            '\'' => scan.character(),
            '`' if !rust => scan.quoted('`'),
            c if c.is_alphabetic() || c == '_' => scan.word(),
            _ => scan.step(),
        }
    }
    found
}

fn push_lines(found: &mut Vec<Comment>, first: usize, body: &str) {
    for (index, line) in body.lines().enumerate() {
        found.push(Comment { line: first + index, text: line.trim().to_owned() });
    }
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    rust: bool,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest().chars().nth(ahead)
    }

    fn step(&mut self) {
        if let Some(c) = self.peek(0) {
            self.line += usize::from(c == '\n');
            self.at += c.len_utf8();
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let start = self.at;
        while self.peek(0).is_some_and(&keep) {
            self.step();
        }
        &self.text[start..self.at]
    }

    /// A block comment, without its marks.
    fn block(&mut self) -> &'t str {
        let start = self.at + 2;
        let mut depth = 0;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return &self.text[start.min(self.at)..self.at];
            }
            if rest.starts_with("/*") && (self.rust || depth == 0) {
                depth += 1;
                self.step();
            } else if rest.starts_with("*/") {
                depth -= 1;
                if depth == 0 {
                    let body = &self.text[start.min(self.at)..self.at];
                    self.step();
                    self.step();
                    return body;
                }
                self.step();
            }
            self.step();
        }
    }

    fn quoted(&mut self, quote: char) {
        self.step();
        while let Some(c) = self.peek(0) {
            self.step();
            if c == '\\' {
                self.step();
            } else if c == quote {
                return;
            }
        }
    }

    /// A character literal; in Rust a lifetime looks like one until its second character.
    fn character(&mut self) {
        let literal = self.peek(1) == Some('\\') || self.peek(2) == Some('\'');
        if literal || !self.rust {
            self.quoted('\'');
        } else {
            self.step();
        }
    }

    /// A word, and the raw string that it may open.
    fn word(&mut self) {
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if !self.rust || !["r", "br", "cr"].contains(&word) {
            return;
        }
        let hashes = self.rest().chars().take_while(|c| *c == '#').count();
        if self.peek(hashes) != Some('"') {
            return;
        }
        let close = format!("\"{}", "#".repeat(hashes));
        let open = hashes + 1;
        let body = &self.rest()[open..];
        let length = body.find(&close).map_or(self.rest().len(), |end| open + end + close.len());
        let end = self.at + length;
        while self.at < end {
            self.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = comments(path, text).into_iter();
        found.map(|comment| (comment.line, comment.text)).collect()
    }

    #[test]
    fn rust_literals_hold_no_comments() {
        let text = "let a = \"// no\"; let b = r#\"/* no \"# ; let c = '\"'; // yes\nfn f<'a>() {} /* one\n/* two */ three */\n";
        let expected = [(1, "yes"), (2, "one"), (3, "/* two */ three")];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(lines("a.rs", text), expected);
    }

    #[test]
    fn hashes_inside_words_and_quotes_are_not_comments() {
        let text = "a=\"# no\"\nb=${#c} # yes\n";
        assert_eq!(lines("a.sh", text), [(2, "yes".to_owned())]);
    }
}
