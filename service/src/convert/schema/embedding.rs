//! How a vector comes from a text: a field of its own in messages, the annotation `@embed` in the engine.
//!
//! Only an annotation in its canonical spelling becomes the field; any other stays an annotation, so that
//! nothing is lost either way.

use omnigraph_engine::model::Annotation;
use omnigraph_proto::v1;

/// The annotation's name.
pub(super) const NAME: &str = "embed";

/// The annotation that says what `embedding` says.
pub(super) fn to_annotation(embedding: &v1::Embedding) -> Annotation {
    let mut arguments = quote(&embedding.source_property);
    if !embedding.model.is_empty() {
        arguments.push_str(", model=");
        arguments.push_str(&quote(&embedding.model));
    }
    Annotation { name: NAME.to_string(), arguments }
}

/// What an annotation says, if it is an `@embed` in canonical spelling.
pub(super) fn from_annotation(annotation: &Annotation) -> Option<v1::Embedding> {
    if annotation.name != NAME {
        return None;
    }
    let (source_property, rest) = unquote(&annotation.arguments)?;
    let model = match rest.strip_prefix(", model=") {
        Some(rest) => {
            let (model, rest) = unquote(rest)?;
            rest.is_empty().then_some(model)?
        }
        None => rest.is_empty().then(String::new)?,
    };
    let embedding = v1::Embedding { source_property, model };
    (!embedding.source_property.is_empty() && to_annotation(&embedding) == *annotation).then_some(embedding)
}

fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text at the start and what follows it. Spellings that [`quote`] does not make are not read.
fn unquote(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, inner.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                c @ ('"' | '\\') => out.push(c),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_come_back() {
        for (source, model) in [("bio", ""), ("bio", "small \"v2\"\n"), ("b\\io", "m")] {
            let embedding = v1::Embedding { source_property: source.into(), model: model.into() };
            assert_eq!(from_annotation(&to_annotation(&embedding)), Some(embedding));
        }
    }

    #[test]
    fn other_spellings_stay_annotations() {
        for arguments in ["", "bio", "\"bio\" ", "\"bio\",model=\"m\"", "\"bio\", dims=3", "\"a\" \"b\"", "\"", "\"\""]
        {
            let annotation = Annotation { name: NAME.into(), arguments: arguments.into() };
            assert_eq!(from_annotation(&annotation), None, "{arguments}");
        }
    }
}
