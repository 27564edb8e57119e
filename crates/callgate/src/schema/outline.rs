//! The outline of a schema: which types it allows at each place inside the arguments, for values written as elements.

use std::collections::{BTreeMap, BTreeSet};

use super::types::TypeSet;

/// The subschemas that matter for types, without the schema itself.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    nodes: Vec<OutlineNode>,
}

/// What one subschema says.
#[derive(Debug)]
pub(super) struct OutlineNode {
    /// The types it allows.
    pub(super) types: TypeSet,
    /// Those that judge the same value.
    pub(super) same: Vec<usize>,
    /// The members it mentions.
    pub(super) members: BTreeMap<String, usize>,
    /// What it says of members that it does not mention.
    pub(super) others: Option<usize>,
    /// What it says of the first elements of a list, one by one.
    pub(super) first_items: Vec<usize>,
    /// What it says of all other elements.
    pub(super) items: Option<usize>,
}

/// A place inside the arguments: the subschemas that judge what stands there. None if nothing is known of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutlinePlace {
    /// All of them.
    judges: Vec<usize>,
    /// The types that are allowed there.
    types: Option<TypeSet>,
}

impl Outline {
    pub(super) fn new(nodes: Vec<OutlineNode>) -> Self {
        Outline { nodes }
    }

    /// The arguments as a whole.
    pub(crate) fn root(&self) -> OutlinePlace {
        self.place([0])
    }

    /// The member of this name.
    pub(crate) fn member(&self, of: &OutlinePlace, key: &str) -> OutlinePlace {
        let judges = of.judges.iter().filter_map(|index| {
            let node = &self.nodes[*index];
            node.members.get(key).copied().or(node.others)
        });
        self.place(judges)
    }

    /// The element at this position of a list.
    pub(crate) fn item(&self, of: &OutlinePlace, position: usize) -> OutlinePlace {
        let judges = of.judges.iter().filter_map(|index| {
            let node = &self.nodes[*index];
            node.first_items.get(position).copied().or(node.items)
        });
        self.place(judges)
    }

    /// These subschemas and all that judge the same value on their behalf. The types of a subschema are already those
    /// that its references and alternatives leave.
    fn place(&self, judges: impl IntoIterator<Item = usize>) -> OutlinePlace {
        let mut pending: Vec<usize> = judges.into_iter().filter(|index| *index < self.nodes.len()).collect();
        let types = pending.iter().map(|index| self.nodes[*index].types).reduce(TypeSet::or);
        let mut seen = BTreeSet::new();
        while let Some(index) = pending.pop() {
            if seen.insert(index) {
                pending.extend(&self.nodes[index].same);
            }
        }
        OutlinePlace { judges: seen.into_iter().collect(), types }
    }
}

impl OutlinePlace {
    /// How many subschemas judge what stands there.
    pub(super) fn judges(&self) -> usize {
        self.judges.len()
    }

    /// The types that are allowed there; nothing if the schema does not speak of the place.
    pub(crate) fn types(&self) -> Option<TypeSet> {
        self.types
    }
}
