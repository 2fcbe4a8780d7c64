//! The text form and the status code of an [`ErrorReason`]. Both follow from the reason alone, so that server
//! and clients cannot disagree; the comments in `error_reason.proto` say the same, and a test compares.

use tonic::Code;

use crate::v1::ErrorReason;

/// What enum value names have and reasons in `google.rpc.ErrorInfo` have not.
const PREFIX: &str = "ERROR_REASON_";

impl ErrorReason {
    /// The text that goes into `google.rpc.ErrorInfo.reason`.
    pub fn reason(self) -> &'static str {
        let name = self.as_str_name();
        name.strip_prefix(PREFIX).unwrap_or(name)
    }

    /// Reads `google.rpc.ErrorInfo.reason`. `None` for a reason this version does not know; treat that by its
    /// status code.
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::from_str_name(&format!("{PREFIX}{reason}"))
    }

    /// The status code of an error with this reason.
    pub fn code(self) -> Code {
        use ErrorReason as R;
        match self {
            R::GraphNotFound
            | R::BranchNotFound
            | R::TypeNotFound
            | R::PropertyNotFound
            | R::CommitNotFound
            | R::TagNotFound
            | R::EntityNotFound
            | R::RecoveryNotFound => Code::NotFound,
            R::GraphExists | R::BranchExists | R::TagExists | R::KeyConflict | R::UniqueViolation => {
                Code::AlreadyExists
            }
            R::DuplicateKeyInInput
            | R::RangeViolation
            | R::CheckViolation
            | R::EnumViolation
            | R::RequiredViolation
            | R::TypeMismatch
            | R::KeyPropertyUpdate
            | R::InvalidSchema
            | R::InvalidRecord
            | R::InvalidArgument
            | R::InvalidPredicate
            | R::InvalidTicket
            | R::InvalidPageToken
            | R::InvalidName
            | R::UnsupportedScheme => Code::InvalidArgument,
            R::CardinalityViolation
            | R::EndpointMissing
            | R::RestrictedByEdges
            | R::HeadMoved
            | R::RecoveryRequired
            | R::InDoubt
            | R::Drift
            | R::RequestIdReused
            | R::BranchClosed
            | R::BranchProtected
            | R::TagProtected
            | R::HistoryGap
            | R::StorageStampTooOld
            | R::StorageStampTooNew
            | R::TornInit
            | R::StoreLacksConditionalPut
            | R::MergeConflict
            | R::SchemaRefused
            | R::ConfirmationRequired
            | R::ReadOnly => Code::FailedPrecondition,
            R::ExpectedVersionMismatch | R::ReadSetChanged | R::TooMuchContention => Code::Aborted,
            R::LimitExceeded | R::Overloaded => Code::ResourceExhausted,
            R::StoreUnavailable => Code::Unavailable,
            R::DataCorrupt => Code::DataLoss,
            R::UnsupportedFeature | R::NotImplemented => Code::Unimplemented,
            R::Unauthenticated => Code::Unauthenticated,
            R::PermissionDenied => Code::PermissionDenied,
            R::Unspecified | R::Internal => Code::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTRACT: &str = include_str!("../omnigraph/v1/error_reason.proto");

    /// The code's name as the contract spells it: `NotFound` is `NOT_FOUND`.
    fn spelled(code: Code) -> String {
        let mut text = String::new();
        for letter in format!("{code:?}").chars() {
            if letter.is_uppercase() && !text.is_empty() {
                text.push('_');
            }
            text.extend(letter.to_uppercase());
        }
        text
    }

    #[test]
    fn codes_are_those_of_the_contract() {
        let mut commented = None;
        let mut seen = 0;
        for line in CONTRACT.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("// Code: ") {
                commented = rest.split_once(". Metadata: {").map(|(code, _)| code);
            } else if let Some((name, number)) = line.split_once(" = ")
                && let Some(name) = name.strip_prefix(PREFIX)
                && number != "0;"
            {
                let reason = ErrorReason::from_reason(name).expect("generated from the same file");
                assert_eq!(commented.take(), Some(spelled(reason.code()).as_str()), "{name}");
                assert_eq!(reason.reason(), name);
                seen += 1;
            }
        }
        assert!(seen > 0 && ErrorReason::try_from(seen).is_ok() && ErrorReason::try_from(seen + 1).is_err());
    }

    #[test]
    fn an_unknown_reason_is_none() {
        assert_eq!(ErrorReason::from_reason("NO_SUCH_REASON"), None);
    }
}
