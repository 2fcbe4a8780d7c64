//! Tags.

use omnigraph_engine::model::TagInfo;
use omnigraph_proto::v1;

use super::{commit, time};

/// A tag as a message.
pub fn to_proto(tag: TagInfo) -> v1::Tag {
    v1::Tag {
        created_at: Some(time::to_proto(tag.created_at)),
        actor: commit::actor_to_proto(&tag.actor),
        name: tag.name,
        commit_id: tag.commit,
        branch: tag.branch,
        message: tag.message,
        protected: tag.protected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::Actor;

    #[test]
    fn tags_keep_everything() {
        let tag = TagInfo {
            name: "release/ü 1%".into(),
            commit: "C1".into(),
            branch: "review".into(),
            created_at: -1,
            actor: Actor("ada".into()),
            message: "m".into(),
            protected: true,
        };
        let expected = v1::Tag {
            name: "release/ü 1%".into(),
            commit_id: "C1".into(),
            branch: "review".into(),
            created_at: Some(time::to_proto(-1)),
            actor: Some(v1::Actor { id: "ada".into() }),
            message: "m".into(),
            protected: true,
        };
        assert_eq!(to_proto(tag.clone()), expected);
        let open = to_proto(TagInfo { protected: false, actor: Actor(String::new()), ..tag });
        assert_eq!((open.protected, open.actor), (false, None));
    }
}
