//! How far indexes are.

use omnigraph_engine::model::{IndexMethod, IndexStatus, Metric};
use omnigraph_proto::v1;
use omnigraph_proto::v1::index_status::Method;

use super::entity;

/// The state of an index as a message.
pub fn to_proto(status: IndexStatus) -> v1::IndexStatus {
    let index = status.index;
    let metric = match index.method {
        IndexMethod::Vector => metric(index.metric),
        _ => v1::VectorMetric::Unspecified,
    };
    v1::IndexStatus {
        kind: entity::kind_to_proto(status.type_ref.kind),
        type_name: status.type_ref.name,
        property: index.column,
        name: index.name,
        method: method(index.method).into(),
        metric: metric.into(),
        present: status.present,
        pending_reason: status.pending,
        rows_covered: status.rows_covered,
        rows_uncovered: status.rows_uncovered,
        bytes: status.bytes,
    }
}

fn method(method: IndexMethod) -> Method {
    match method {
        IndexMethod::BTree => Method::Btree,
        IndexMethod::Bitmap => Method::Bitmap,
        IndexMethod::LabelList => Method::LabelList,
        IndexMethod::Inverted => Method::Inverted,
        IndexMethod::Ngram => Method::Ngram,
        IndexMethod::Vector => Method::Vector,
    }
}

fn metric(metric: Metric) -> v1::VectorMetric {
    match metric {
        Metric::Cosine => v1::VectorMetric::Cosine,
        Metric::L2 => v1::VectorMetric::L2,
        Metric::Dot => v1::VectorMetric::Dot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::{TypeRef, WantedIndex};

    fn status(method: IndexMethod) -> IndexStatus {
        IndexStatus {
            type_ref: TypeRef::edge("Knows"),
            index: WantedIndex { name: "p1_x".into(), column: "since".into(), method, metric: Metric::Dot },
            present: true,
            pending: "why".into(),
            rows_covered: u64::MAX,
            rows_uncovered: 2,
            bytes: 3,
        }
    }

    #[test]
    fn indexes_keep_everything_and_only_vectors_have_a_metric() {
        let message = to_proto(status(IndexMethod::Vector));
        assert_eq!((message.kind(), message.type_name.as_str()), (v1::EntityKind::Edge, "Knows"));
        assert_eq!((message.property.as_str(), message.name.as_str()), ("since", "p1_x"));
        assert_eq!((message.method(), message.metric()), (Method::Vector, v1::VectorMetric::Dot));
        assert_eq!((message.present, message.pending_reason.as_str()), (true, "why"));
        assert_eq!((message.rows_covered, message.rows_uncovered, message.bytes), (u64::MAX, 2, 3));
        let plain = to_proto(status(IndexMethod::LabelList));
        assert_eq!((plain.method(), plain.metric()), (Method::LabelList, v1::VectorMetric::Unspecified));
    }
}
