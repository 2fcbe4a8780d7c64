//! Gives types and properties the ids that outlive their names. It never changes an id that is set.

use crate::model::{EntityType, Schema};

/// Fills what has no id yet: a type's id with what `fresh` returns, a property's with the next number
/// of its type, from 1 in declaration order. Ids that are set stay. Properties of interfaces have no
/// life of their own and keep 0.
pub fn assign_ids(schema: &mut Schema, fresh: &mut dyn FnMut() -> String) {
    schema.types.iter_mut().for_each(|ty| assign_type(ty, fresh));
}

/// As [`assign_ids`], for one type that is new.
pub fn assign_type(ty: &mut EntityType, fresh: &mut dyn FnMut() -> String) {
    if ty.id.is_empty() {
        ty.id = fresh();
    }
    let mut last = ty.properties.iter().map(|p| p.id).max().unwrap_or(0);
    for property in ty.properties.iter_mut().filter(|p| p.id == 0) {
        last += 1;
        property.id = last;
    }
}

#[cfg(test)]
mod tests {
    use super::assign_ids;
    use crate::schema::parse;

    #[test]
    fn fills_only_what_is_missing() {
        let mut schema = parse("node A { x: String y: Bool z: I32 } node B {}").unwrap();
        schema.types[0].properties[1].id = 7;
        schema.types[1].id = "kept".into();
        let mut next = 0;
        assign_ids(&mut schema, &mut || {
            next += 1;
            format!("t{next}")
        });
        let ids: Vec<u32> = schema.types[0].properties.iter().map(|p| p.id).collect();
        assert_eq!(ids, [8, 7, 9]);
        assert_eq!(schema.types[0].id, "t1");
        assert_eq!(schema.types[1].id, "kept");
    }
}
