//! The three declarations of a file's contents: a table of keys, a choice of kinds, a set of words.
//! Each generates a type, its reader and its JSON Schema.

/// A table: each field is a key; `flatten` takes in the keys of another table.
macro_rules! keys {
    (
        $(#[doc = $doc:literal])+
        struct $name:ident {
            $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty,)*
            $(#flatten $inner:ident: $inner_type:ty,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        #[allow(dead_code, reason = "some keys are only checked")]
        pub(in crate::scenario) struct $name {
            $($(#[doc = $field_doc])+ pub(in crate::scenario) $field: $type,)*
            $(pub(in crate::scenario) $inner: $inner_type,)?
        }

        impl $crate::scenario::decode::Keys for $name {
            fn names() -> Vec<&'static str> {
                #[allow(unused_mut, reason = "not every table takes in another")]
                let mut names: Vec<&'static str> = vec![$(stringify!($field)),*];
                $(names.extend(<$inner_type as $crate::scenario::decode::Keys>::names());)?
                names
            }

            fn required() -> Vec<&'static str> {
                #[allow(unused_mut, reason = "not every table has keys that must be there")]
                let mut required: Vec<&'static str> = Vec::new();
                $(if <$type as $crate::scenario::decode::Decode>::missing().is_none() {
                    required.push(stringify!($field));
                })*
                $(required.extend(<$inner_type as $crate::scenario::decode::Keys>::required());)?
                required
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn properties(
                definitions: &mut $crate::scenario::definitions::Definitions,
                properties: &mut serde_json::Map<String, serde_json::Value>,
            ) {
                $(
                    let schema = <$type as $crate::scenario::decode::Decode>::schema(definitions);
                    let described =
                        $crate::scenario::definitions::described(schema, concat!($($field_doc),+));
                    properties.insert(stringify!($field).to_owned(), described);
                )*
                $(<$inner_type as $crate::scenario::decode::Keys>::properties(
                    definitions,
                    properties,
                );)?
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn read(
                table: &$crate::scenario::tree::Node,
                context: &mut $crate::scenario::decode::Context,
            ) -> Option<Self> {
                // Read all keys first, to find every problem.
                $(let $field = context.key::<$type>(table, stringify!($field));)*
                $(let $inner = <$inner_type as $crate::scenario::decode::Keys>::read(table, context);)?
                Some(Self { $($field: $field?,)* $($inner: $inner?,)? })
            }
        }

        impl $crate::scenario::decode::Decode for $name {
            const EXPECTED: &'static str = "a table";

            fn decode(
                node: &$crate::scenario::tree::Node,
                context: &mut $crate::scenario::decode::Context,
            ) -> Option<Self> {
                if node.table().is_none() {
                    return context.unexpected::<Self, _>(node);
                }
                context.table::<Self>(node, None)
            }

            fn schema(
                definitions: &mut $crate::scenario::definitions::Definitions,
            ) -> serde_json::Value {
                $crate::scenario::describe::table::<Self>(
                    definitions,
                    stringify!($name),
                    concat!($($doc),+),
                )
            }
        }
    };
}

/// A choice: the name of a kind alone, or a table with `kind` and that kind's keys.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        enum $name:ident as $what:literal {
            $($(#[doc = $kind_doc:literal])+ $variant:ident($keys:ty) = $kind:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(in crate::scenario) enum $name {
            $($(#[doc = $kind_doc])+ $variant($keys),)+
        }

        impl $name {
            /// The names of the kinds.
            pub(in crate::scenario) const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The noun for the choice in messages, such as "an application".
            #[allow(dead_code, reason = "only choices that a registry extends need it")]
            pub(in crate::scenario) const WHAT: &'static str = $what;
        }

        impl $crate::scenario::decode::Decode for $name {
            const EXPECTED: &'static str =
                concat!($what, ": the name of a kind, or a table with `kind`");

            fn decode(
                node: &$crate::scenario::tree::Node,
                context: &mut $crate::scenario::decode::Context,
            ) -> Option<Self> {
                match $crate::scenario::decode::kind_of::<Self>(node, context, $what, Self::KINDS)? {
                    $($kind => context.table::<$keys>(node, Some("kind")).map(Self::$variant),)+
                    _ => None,
                }
            }

            fn schema(
                definitions: &mut $crate::scenario::definitions::Definitions,
            ) -> serde_json::Value {
                let kinds = vec![$(
                    $crate::scenario::describe::kind::<$keys>(
                        definitions,
                        $kind,
                        concat!($($kind_doc),+),
                    ),
                )+];
                $crate::scenario::describe::choice(
                    definitions,
                    stringify!($name),
                    concat!($($doc),+),
                    kinds,
                )
            }
        }
    };
}

/// A set of words.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        enum $name:ident as $what:literal {
            $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub(in crate::scenario) enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
        }

        impl $crate::scenario::decode::Decode for $name {
            const EXPECTED: &'static str = $what;

            fn decode(
                node: &$crate::scenario::tree::Node,
                context: &mut $crate::scenario::decode::Context,
            ) -> Option<Self> {
                const ALL: &[$name] = &[$($name::$variant),+];
                context.word(node, $what, &[$($word),+]).map(|index| ALL[index])
            }

            fn schema(_: &mut $crate::scenario::definitions::Definitions) -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}
