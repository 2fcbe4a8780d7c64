//! Every reason an operation can fail for, with the kind it belongs to and its stable name.
//!
//! The names are part of the wire contract: a client branches on them. It holds no logic.

use super::Kind;

/// Why an operation failed. The stable name is [`Reason::as_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No graph stands at this root or has this id.
    GraphNotFound,
    /// No live branch has this name.
    BranchNotFound,
    /// The schema declares no such type.
    TypeNotFound,
    /// The type declares no such property.
    PropertyNotFound,
    /// No retained commit has this id, or none is that old.
    CommitNotFound,
    /// No tag has this name.
    TagNotFound,
    /// No entity has this id.
    EntityNotFound,
    /// No operation of this id was ever recovered.
    RecoveryNotFound,
    /// A graph stands at this root already.
    GraphExists,
    /// A live branch has this name already.
    BranchExists,
    /// A tag has this name already.
    TagExists,
    /// An insert names an id that exists already.
    KeyConflict,
    /// One input names the same id twice.
    DuplicateKeyInInput,
    /// Two entities would share a value declared unique.
    UniqueViolation,
    /// A source would have too few or too many edges.
    CardinalityViolation,
    /// A value lies outside its declared range.
    RangeViolation,
    /// A text does not match its declared pattern.
    CheckViolation,
    /// A value is not a member of its enum.
    EnumViolation,
    /// A required property is null or absent.
    RequiredViolation,
    /// A value is not of its property's type, or does not fit it.
    TypeMismatch,
    /// An edge's endpoint does not exist in the resulting graph.
    EndpointMissing,
    /// A node to delete still has edges and the delete was restricted.
    RestrictedByEdges,
    /// A key property cannot be updated.
    KeyPropertyUpdate,
    /// The schema is wrong; every offender is listed.
    InvalidSchema,
    /// The graph cannot take a change of schema; every step that stands against it is listed.
    SchemaRefused,
    /// Records of the input are wrong; every offender is listed.
    InvalidRecord,
    /// A request field is malformed.
    InvalidArgument,
    /// A predicate is malformed or does not fit its property.
    InvalidPredicate,
    /// A Flight ticket or descriptor is malformed.
    InvalidTicket,
    /// A page token is malformed or belongs to another request.
    InvalidPageToken,
    /// A graph, branch or tag name is not allowed.
    InvalidName,
    /// The request requires something this server does not know.
    UnsupportedFeature,
    /// The branch's head is not the commit the request expects.
    HeadMoved,
    /// A table is not at the version the operation was prepared on.
    ExpectedVersionMismatch,
    /// Data the operation read changed before it took effect.
    ReadSetChanged,
    /// Other writers won every bounded attempt.
    TooMuchContention,
    /// An effect is durable and the store does not let the engine finish; the next call heals it.
    RecoveryRequired,
    /// The store did not say whether the commit landed; look it up by its id.
    InDoubt,
    /// A table is ahead of its published version and nothing explains it.
    Drift,
    /// The request id belongs to another operation already.
    RequestIdReused,
    /// A documented limit is exceeded.
    LimitExceeded,
    /// The branch was deleted while the operation waited.
    BranchClosed,
    /// The branch cannot be deleted, or takes no direct writes.
    BranchProtected,
    /// The tag cannot be deleted.
    TagProtected,
    /// Both sides of a merge changed the same thing in different ways, or the result would break a constraint.
    MergeConflict,
    /// Commits that a follower has not seen are not retained any more.
    HistoryGap,
    /// The graph was written by an older storage format.
    StorageStampTooOld,
    /// The graph was written by a newer release.
    StorageStampTooNew,
    /// The root holds a manifest without a readable format stamp.
    TornInit,
    /// The root's URI scheme is not supported.
    UnsupportedScheme,
    /// The store ignores create-if-absent, which every commit needs.
    StoreLacksConditionalPut,
    /// The object store failed or did not answer.
    StoreUnavailable,
    /// Stored data contradicts itself.
    DataCorrupt,
    /// Not built yet.
    NotImplemented,
    /// A defect of the engine.
    Internal,
    /// A destructive call lacks its confirmation.
    ConfirmationRequired,
    /// The graph was opened read-only.
    ReadOnly,
}

impl Reason {
    /// Every reason, in contract order.
    pub const ALL: &'static [Reason] = &[
        Self::GraphNotFound,
        Self::BranchNotFound,
        Self::TypeNotFound,
        Self::PropertyNotFound,
        Self::CommitNotFound,
        Self::TagNotFound,
        Self::EntityNotFound,
        Self::RecoveryNotFound,
        Self::GraphExists,
        Self::BranchExists,
        Self::TagExists,
        Self::KeyConflict,
        Self::DuplicateKeyInInput,
        Self::UniqueViolation,
        Self::CardinalityViolation,
        Self::RangeViolation,
        Self::CheckViolation,
        Self::EnumViolation,
        Self::RequiredViolation,
        Self::TypeMismatch,
        Self::EndpointMissing,
        Self::RestrictedByEdges,
        Self::KeyPropertyUpdate,
        Self::InvalidSchema,
        Self::SchemaRefused,
        Self::InvalidRecord,
        Self::InvalidArgument,
        Self::InvalidPredicate,
        Self::InvalidTicket,
        Self::InvalidPageToken,
        Self::InvalidName,
        Self::UnsupportedFeature,
        Self::HeadMoved,
        Self::ExpectedVersionMismatch,
        Self::ReadSetChanged,
        Self::TooMuchContention,
        Self::RecoveryRequired,
        Self::InDoubt,
        Self::Drift,
        Self::RequestIdReused,
        Self::LimitExceeded,
        Self::BranchClosed,
        Self::BranchProtected,
        Self::TagProtected,
        Self::MergeConflict,
        Self::HistoryGap,
        Self::StorageStampTooOld,
        Self::StorageStampTooNew,
        Self::TornInit,
        Self::UnsupportedScheme,
        Self::StoreLacksConditionalPut,
        Self::StoreUnavailable,
        Self::DataCorrupt,
        Self::NotImplemented,
        Self::Internal,
        Self::ConfirmationRequired,
        Self::ReadOnly,
    ];

    /// The stable upper-case name used on the wire.
    // long: one line per reason
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GraphNotFound => "GRAPH_NOT_FOUND",
            Self::BranchNotFound => "BRANCH_NOT_FOUND",
            Self::TypeNotFound => "TYPE_NOT_FOUND",
            Self::PropertyNotFound => "PROPERTY_NOT_FOUND",
            Self::CommitNotFound => "COMMIT_NOT_FOUND",
            Self::TagNotFound => "TAG_NOT_FOUND",
            Self::EntityNotFound => "ENTITY_NOT_FOUND",
            Self::RecoveryNotFound => "RECOVERY_NOT_FOUND",
            Self::GraphExists => "GRAPH_EXISTS",
            Self::BranchExists => "BRANCH_EXISTS",
            Self::TagExists => "TAG_EXISTS",
            Self::KeyConflict => "KEY_CONFLICT",
            Self::DuplicateKeyInInput => "DUPLICATE_KEY_IN_INPUT",
            Self::UniqueViolation => "UNIQUE_VIOLATION",
            Self::CardinalityViolation => "CARDINALITY_VIOLATION",
            Self::RangeViolation => "RANGE_VIOLATION",
            Self::CheckViolation => "CHECK_VIOLATION",
            Self::EnumViolation => "ENUM_VIOLATION",
            Self::RequiredViolation => "REQUIRED_VIOLATION",
            Self::TypeMismatch => "TYPE_MISMATCH",
            Self::EndpointMissing => "ENDPOINT_MISSING",
            Self::RestrictedByEdges => "RESTRICTED_BY_EDGES",
            Self::KeyPropertyUpdate => "KEY_PROPERTY_UPDATE",
            Self::InvalidSchema => "INVALID_SCHEMA",
            Self::SchemaRefused => "SCHEMA_REFUSED",
            Self::InvalidRecord => "INVALID_RECORD",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::InvalidPredicate => "INVALID_PREDICATE",
            Self::InvalidTicket => "INVALID_TICKET",
            Self::InvalidPageToken => "INVALID_PAGE_TOKEN",
            Self::InvalidName => "INVALID_NAME",
            Self::UnsupportedFeature => "UNSUPPORTED_FEATURE",
            Self::HeadMoved => "HEAD_MOVED",
            Self::ExpectedVersionMismatch => "EXPECTED_VERSION_MISMATCH",
            Self::ReadSetChanged => "READ_SET_CHANGED",
            Self::TooMuchContention => "TOO_MUCH_CONTENTION",
            Self::RecoveryRequired => "RECOVERY_REQUIRED",
            Self::InDoubt => "IN_DOUBT",
            Self::Drift => "DRIFT",
            Self::RequestIdReused => "REQUEST_ID_REUSED",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::BranchClosed => "BRANCH_CLOSED",
            Self::BranchProtected => "BRANCH_PROTECTED",
            Self::TagProtected => "TAG_PROTECTED",
            Self::MergeConflict => "MERGE_CONFLICT",
            Self::HistoryGap => "HISTORY_GAP",
            Self::StorageStampTooOld => "STORAGE_STAMP_TOO_OLD",
            Self::StorageStampTooNew => "STORAGE_STAMP_TOO_NEW",
            Self::TornInit => "TORN_INIT",
            Self::UnsupportedScheme => "UNSUPPORTED_SCHEME",
            Self::StoreLacksConditionalPut => "STORE_LACKS_CONDITIONAL_PUT",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::DataCorrupt => "DATA_CORRUPT",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::ConfirmationRequired => "CONFIRMATION_REQUIRED",
            Self::ReadOnly => "READ_ONLY",
        }
    }

    /// What a caller does next.
    pub fn kind(self) -> Kind {
        match self {
            Self::GraphNotFound
            | Self::BranchNotFound
            | Self::TypeNotFound
            | Self::PropertyNotFound
            | Self::CommitNotFound
            | Self::TagNotFound
            | Self::EntityNotFound
            | Self::RecoveryNotFound => Kind::NotFound,
            Self::GraphExists | Self::BranchExists | Self::TagExists | Self::KeyConflict => Kind::AlreadyExists,
            Self::DuplicateKeyInInput
            | Self::UniqueViolation
            | Self::CardinalityViolation
            | Self::RangeViolation
            | Self::CheckViolation
            | Self::EnumViolation
            | Self::RequiredViolation
            | Self::TypeMismatch
            | Self::EndpointMissing
            | Self::KeyPropertyUpdate
            | Self::InvalidSchema
            | Self::InvalidRecord
            | Self::InvalidArgument
            | Self::InvalidPredicate
            | Self::InvalidTicket
            | Self::InvalidPageToken
            | Self::InvalidName
            | Self::UnsupportedFeature
            | Self::RequestIdReused
            | Self::UnsupportedScheme => Kind::Invalid,
            Self::RestrictedByEdges
            | Self::HeadMoved
            | Self::SchemaRefused
            | Self::Drift
            | Self::BranchClosed
            | Self::BranchProtected
            | Self::TagProtected
            | Self::MergeConflict
            | Self::HistoryGap
            | Self::StorageStampTooOld
            | Self::StorageStampTooNew
            | Self::TornInit
            | Self::StoreLacksConditionalPut
            | Self::ConfirmationRequired
            | Self::ReadOnly => Kind::FailedPrecondition,
            Self::ExpectedVersionMismatch | Self::ReadSetChanged | Self::TooMuchContention => Kind::Conflict,
            Self::RecoveryRequired | Self::InDoubt | Self::StoreUnavailable => Kind::Unavailable,
            Self::LimitExceeded => Kind::Exhausted,
            Self::DataCorrupt => Kind::Data,
            Self::NotImplemented => Kind::Unimplemented,
            Self::Internal => Kind::Internal,
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
