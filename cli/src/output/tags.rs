//! Tags, as JSON and for people. The JSON form is documented in `docs/history.md` and stable. Pure.

use omnigraph_engine::model::TagInfo;
use serde_json::{Value as Json, json};

use super::shape::some;
use super::table::{cell, facts, with_heads, yes};
use crate::literal::datetime;

/// A tag.
pub(crate) fn json(tag: &TagInfo) -> Json {
    json!({
        "name": tag.name,
        "commit": tag.commit,
        "branch": some(&tag.branch),
        "created_at": datetime(tag.created_at),
        "actor": tag.actor.0,
        "message": some(&tag.message),
        "protected": tag.protected,
    })
}

/// Tags by name.
pub(crate) fn table(tags: &[TagInfo]) -> String {
    let mut table = with_heads(["tag", "commit", "branch", "created", "actor", "protected", "message"]);
    for tag in tags {
        table.add_row([
            cell(&tag.name),
            tag.commit.clone(),
            cell(&tag.branch),
            datetime(tag.created_at),
            cell(&tag.actor.0),
            yes(tag.protected),
            cell(&tag.message),
        ]);
    }
    table.to_string()
}

/// One tag.
pub(crate) fn text(tag: &TagInfo) -> String {
    facts(&[
        ("tag", tag.name.clone()),
        ("commit", tag.commit.clone()),
        ("branch", tag.branch.clone()),
        ("created", datetime(tag.created_at)),
        ("actor", tag.actor.0.clone()),
        ("protected", yes(tag.protected)),
        ("message", tag.message.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::Actor;

    #[test]
    fn a_tag_says_whether_it_is_protected() {
        let tag = TagInfo {
            name: "v1".into(),
            commit: "C".into(),
            branch: "main".into(),
            created_at: 0,
            actor: Actor("ada".into()),
            message: String::new(),
            protected: true,
        };
        let shown = json(&tag);
        assert_eq!(
            (&shown["protected"], &shown["message"], &shown["commit"]),
            (&json!(true), &Json::Null, &json!("C"))
        );
        assert!(text(&tag).contains("protected  yes") && table(&[tag]).contains("yes"));
    }
}
