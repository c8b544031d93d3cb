//! The declarations of a file's contents: a table of keys, a choice of kinds, a set of words, a text that
//! a function parses, a number in a range. Each generates a type, its reader and its JSON Schema.

/// A table: each field is a key; `flatten` takes in the keys of another table.
///
/// Generates a struct with these fields, which implements [`Keys`](crate::Keys) and
/// [`Decode`](crate::Decode) for every registry for which its values do.
#[macro_export]
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
        pub(crate) struct $name {
            $($(#[doc = $field_doc])+ pub(crate) $field: $type,)*
            $(pub(crate) $inner: $inner_type,)?
        }

        impl<R> $crate::Keys<R> for $name
        where
            $($type: $crate::Decode<R>,)*
            $($inner_type: $crate::Keys<R>,)?
        {
            fn names() -> Vec<&'static str> {
                #[allow(unused_mut, reason = "not every table takes in another")]
                let mut names: Vec<&'static str> = vec![$(stringify!($field)),*];
                $(names.extend(<$inner_type as $crate::Keys<R>>::names());)?
                names
            }

            fn required() -> Vec<&'static str> {
                #[allow(unused_mut, reason = "not every table has keys that must be there")]
                let mut required: Vec<&'static str> = Vec::new();
                $(if <$type as $crate::Decode<R>>::missing().is_none() {
                    required.push(stringify!($field));
                })*
                $(required.extend(<$inner_type as $crate::Keys<R>>::required());)?
                required
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn properties(
                definitions: &mut $crate::Definitions<R>,
                properties: &mut $crate::expanded::Map<String, $crate::expanded::Json>,
            ) {
                $(
                    let schema = <$type as $crate::Decode<R>>::schema(definitions);
                    let described = $crate::described(schema, concat!($($field_doc),+));
                    properties.insert(stringify!($field).to_owned(), described);
                )*
                $(<$inner_type as $crate::Keys<R>>::properties(definitions, properties);)?
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn read(table: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                // Read all keys first, to find every problem.
                $(let $field = context.key::<$type>(table, stringify!($field));)*
                $(let $inner = <$inner_type as $crate::Keys<R>>::read(table, context);)?
                Some(Self { $($field: $field?,)* $($inner: $inner?,)? })
            }
        }

        impl<R> $crate::Decode<R> for $name
        where
            $name: $crate::Keys<R>,
        {
            const EXPECTED: &'static str = "a table";

            fn decode(node: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                if node.table().is_none() {
                    return context.unexpected::<Self, _>(node);
                }
                context.table::<Self>(node, None)
            }

            fn schema(definitions: &mut $crate::Definitions<R>) -> $crate::expanded::Json {
                let doc = concat!($($doc),+);
                $crate::expanded::table::<Self, R>(definitions, stringify!($name), doc)
            }
        }
    };
}

/// A choice: the name of a kind alone, or a table with `kind` and that kind's keys.
///
/// Generates an enum with a variant for each kind, which implements [`Choice`](crate::Choice) and
/// [`Decode`](crate::Decode).
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        enum $name:ident as $what:literal {
            $($(#[doc = $kind_doc:literal])+ $variant:ident($keys:ty) = $kind:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(crate) enum $name {
            $($(#[doc = $kind_doc])+ $variant($keys),)+
        }

        impl $crate::Choice for $name {
            const KINDS: &'static [&'static str] = &[$($kind),+];
            const NOUN: &'static str = $what;

            fn kind(&self) -> &'static str {
                match self {
                    $($name::$variant(_) => $kind,)+
                }
            }
        }

        impl<R> $crate::Decode<R> for $name
        where
            $($keys: $crate::Keys<R>,)+
        {
            const EXPECTED: &'static str =
                concat!($what, ": the name of a kind, or a table with `kind`");

            fn decode(node: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                let kinds = <Self as $crate::Choice>::KINDS;
                match $crate::kind_of::<Self, R>(node, context, $what, kinds)? {
                    $($kind => context.table::<$keys>(node, Some("kind")).map(Self::$variant),)+
                    _ => None,
                }
            }

            fn schema(definitions: &mut $crate::Definitions<R>) -> $crate::expanded::Json {
                let kinds = vec![$({
                    let doc = concat!($($kind_doc),+);
                    $crate::expanded::kind::<$keys, R>(definitions, $kind, doc)
                },)+];
                let doc = concat!($($doc),+);
                $crate::expanded::choice(definitions, stringify!($name), doc, kinds)
            }
        }
    };
}

/// A set of words. Generates an enum with a variant for each, which implements
/// [`Decode`](crate::Decode).
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        enum $name:ident as $what:literal {
            $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
        }

        impl<R> $crate::Decode<R> for $name {
            const EXPECTED: &'static str = $what;

            fn decode(node: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                const ALL: &[$name] = &[$($name::$variant),+];
                context.word(node, $what, &[$($word),+]).map(|index| ALL[index])
            }

            fn schema(_: &mut $crate::Definitions<R>) -> $crate::expanded::Json {
                $crate::expanded::json!({ "enum": [$($word),+] })
            }
        }
    };
}

/// A text that a function parses: `struct Address(IpAddr) as "an address" = parse_address;`. The
/// function's error is the message, or becomes one.
///
/// Generates a struct around the value, which implements [`Decode`](crate::Decode).
#[macro_export]
macro_rules! text {
    (
        $(#[doc = $doc:literal])+
        struct $name:ident($type:ty) as $expected:literal = $parse:expr;
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name(pub(crate) $type);

        impl<R> $crate::Decode<R> for $name {
            const EXPECTED: &'static str = $expected;

            fn decode(node: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                let $crate::Value::Text(text) = &node.value else {
                    return context.unexpected::<Self, _>(node);
                };
                let parsed = $parse(text.as_str());
                parsed.map_err(|error| context.wrong(node.position, error)).ok().map($name)
            }

            fn schema(_: &mut $crate::Definitions<R>) -> $crate::expanded::Json {
                $crate::expanded::json!({ "type": "string" })
            }
        }
    };
}

/// A whole number in a range: `struct Port(u16) in 1..=65_535, "a port from 1 to 65535";`.
///
/// Generates a struct around the number, which implements [`Decode`](crate::Decode).
#[macro_export]
macro_rules! bounded {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident($type:ty) in $range:expr, $expected:literal;
    ) => {
        $(#[doc = $doc])+
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        $vis struct $name($vis $type);

        impl<R> $crate::Decode<R> for $name {
            const EXPECTED: &'static str = $expected;

            fn decode(node: &$crate::Node, context: &mut $crate::Context<R>) -> Option<Self> {
                let range: std::ops::RangeInclusive<i64> = $range;
                match node.value {
                    $crate::Value::Integer(number) if range.contains(&number) => {
                        number.try_into().ok().map($name)
                    }
                    _ => context.unexpected::<Self, _>(node),
                }
            }

            fn schema(_: &mut $crate::Definitions<R>) -> $crate::expanded::Json {
                let range: std::ops::RangeInclusive<i64> = $range;
                let (least, most) = range.into_inner();
                $crate::expanded::json!({ "type": "integer", "minimum": least, "maximum": most })
            }
        }
    };
}
