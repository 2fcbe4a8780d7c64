//! What counts as a word. Texts and questions are taken apart in the same way, which is that of a text index.
//!
//! Words are runs of letters and digits, in lower case, reduced to their English stem, without accents; words of 40
//! bytes and more and the most frequent English ones are left out.

use lance_index::scalar::InvertedIndexParams;
use lance_index::scalar::inverted::tokenizer::document_tokenizer::LanceTokenizer;

use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::store::lance::error;

/// What an index of texts must say of itself to mean the same words; the rest is how it is stored.
const STORED_ONLY: [&str; 3] = ["lance_tokenizer", "with_position", "block_size"];

/// The words of one question.
#[derive(Clone, Debug)]
pub(super) struct Words {
    analyzer: Box<dyn LanceTokenizer>,
    words: Vec<String>,
}

/// What was counted in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Words in all, repeated ones included.
    pub length: u32,
    /// How often each word of the question is there, in its order.
    pub counts: Vec<u32>,
}

impl Words {
    /// The different words of a question, in the order they come. There may be none.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`].
    pub fn of(question: &str) -> Result<Self> {
        let mut analyzer = analysis().build().map_err(error::convert)?;
        let mut words: Vec<String> = Vec::new();
        each(analyzer.as_mut(), question, |word| {
            if words.iter().all(|known| known != word) {
                words.push(word.to_string());
            }
        })?;
        if words.len() > limits::MAX_SEARCH_WORDS {
            let limit = limits::MAX_SEARCH_WORDS;
            let what = format!("the text has {} different words; a search takes {limit} at most", words.len());
            return Err(Error::new(Reason::LimitExceeded, what).with("limit", limit).with("found", words.len()));
        }
        Ok(Self { analyzer, words })
    }

    /// The words.
    pub fn all(&self) -> &[String] {
        &self.words
    }

    /// Counts them in a text.
    ///
    /// # Errors
    /// A text that cannot be taken apart.
    pub fn count(&mut self, text: &str) -> Result<Counted> {
        let mut counted = Counted { length: 0, counts: vec![0; self.words.len()] };
        let words = &self.words;
        each(self.analyzer.as_mut(), text, |word| {
            counted.length += 1;
            if let Some(at) = words.iter().position(|known| known == word)
                && let Some(count) = counted.counts.get_mut(at)
            {
                *count += 1;
            }
        })?;
        Ok(counted)
    }
}

/// Whether an index that was made with these parameters has the words that are counted here.
pub(super) fn means_the_same(parameters: &str) -> bool {
    let ours = serde_json::to_value(analysis());
    let theirs = serde_json::from_str::<serde_json::Value>(parameters);
    let (Ok(serde_json::Value::Object(ours)), Ok(theirs)) = (ours, theirs) else {
        return false;
    };
    let kind = theirs.get("lance_tokenizer").and_then(|kind| kind.as_str());
    kind.is_none_or(|kind| kind == "text")
        && ours.iter().filter(|(name, _)| !STORED_ONLY.contains(&name.as_str())).all(|(name, value)| {
            // What a parameter's absence means may change; only what is said counts.
            theirs.get(name).is_some_and(|said| said == value)
        })
}

fn analysis() -> InvertedIndexParams {
    InvertedIndexParams::default()
}

fn each(analyzer: &mut dyn LanceTokenizer, text: &str, mut word: impl FnMut(&str)) -> Result<()> {
    let mut stream = analyzer.token_stream_for_doc(text);
    loop {
        match stream.try_next() {
            Ok(Some(token)) => word(&token.text),
            Ok(None) => return Ok(()),
            Err(why) => return Err(Error::internal(format!("a text cannot be taken apart: {why}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_texts_have_the_same_words() {
        let mut words = Words::of("The running CATS, café! cats").unwrap();
        assert_eq!(words.all(), ["run", "cat", "cafe"]);
        let counted = words.count("A cat ran; Cats run to the Café.").unwrap();
        assert_eq!(counted.counts, [1, 2, 1]);
        assert!(counted.length >= 4 && counted.length < 8, "{counted:?}");
        assert_eq!(words.count("").unwrap(), Counted { length: 0, counts: vec![0; 3] });
        assert!(Words::of("the of and").unwrap().all().is_empty());
        let many: String = (0..=limits::MAX_SEARCH_WORDS).map(|n| format!("w{n} ")).collect();
        assert_eq!(Words::of(&many).unwrap_err().reason(), Reason::LimitExceeded);
    }

    #[test]
    fn an_index_of_other_words_is_recognised() {
        let json = |params: InvertedIndexParams| serde_json::to_string(&params).unwrap();
        assert!(means_the_same(&json(analysis())));
        assert!(means_the_same(&json(analysis().lance_tokenizer("text".into()).with_position(true))));
        assert!(!means_the_same(&json(analysis().lance_tokenizer("json".into()))));
        assert!(!means_the_same(&json(analysis().stem(false))));
        assert!(!means_the_same(&json(analysis().remove_stop_words(false))));
        assert!(!means_the_same("{}"));
        assert!(!means_the_same("nonsense"));
    }
}
