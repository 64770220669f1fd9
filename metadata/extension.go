package metadata

import (
	"bytes"

	"varve.dev/zarr/internal/strictjson"
)

// Extension is the value of an extension point: a data type, chunk grid, chunk key encoding, codec or storage
// transformer by name (zarr-specs v3.1 core, "Extension points").
type Extension struct {
	// Name is the registered name or URL.
	Name string
	// Configuration is the JSON object of that name as it was spelled, nil where there is none.
	Configuration []byte
	// Optional is set where the document says "must_understand": false.
	Optional bool

	read *spelling
}

// spelling is an extension as a document had it. It is written again as long as the extension is what was read.
type spelling struct {
	as  Extension
	raw []byte
}

// ParseExtension reads an extension that is nested in a configuration: an inner codec of a shard, the type of a field.
// raw is an object with the members "name", "configuration" and "must_understand", or a string that is the name.
// Errors are of type [*Error] and [ErrInvalid].
func ParseExtension(raw []byte, l Limits) (Extension, error) {
	v, err := strictjson.Parse(raw, l.json())
	if err != nil {
		return Extension{}, located(err)
	}
	e, err := newExtension(v)
	return e, located(err)
}

func newExtension(v strictjson.Value) (Extension, error) {
	var e Extension
	var err error
	switch v.Kind() {
	case strictjson.String:
		e.Name, err = extensionName(v)
	case strictjson.Object:
		e, err = extensionObject(v)
	default:
		err = v.Errorf("must be an object with a name, or a string, got %s", v.Kind())
	}
	if err != nil {
		return Extension{}, err
	}
	e.read = &spelling{e, v.Raw()}
	return e, nil
}

func extensionObject(v strictjson.Value) (e Extension, err error) {
	named := false
	for name, m := range v.Named() {
		switch string(name) {
		case "name":
			named = true
			e.Name, err = extensionName(m)
		case "configuration":
			if e.Configuration = m.Raw(); m.Kind() != strictjson.Object {
				err = m.Errorf("configuration must be an object, got %s", m.Kind())
			}
		case "must_understand":
			var must bool
			must, err = m.Bool()
			e.Optional = !must
		default:
			err = m.Errorf("unknown member; an extension has a name, a configuration and must_understand")
		}
		if err != nil {
			return e, err
		}
	}
	if !named {
		return e, v.Errorf(`member "name" is missing`)
	}
	return e, nil
}

func extensionName(v strictjson.Value) (string, error) {
	name, err := v.Str()
	if err == nil && name == "" {
		err = v.Errorf("name must not be empty")
	}
	return name, err
}

// MarshalJSON returns what Append appends.
func (e Extension) MarshalJSON() ([]byte, error) { return e.Append(nil), nil }

// Equal reports whether e and o say the same, however they are spelled.
func (e Extension) Equal(o Extension) bool {
	return e.Name == o.Name && e.Optional == o.Optional &&
		(e.Configuration == nil) == (o.Configuration == nil) && bytes.Equal(e.Configuration, o.Configuration)
}

// Append appends the JSON of e as it stands in a document: as it was spelled where it was read and not changed,
// else as an object, because zarr-python 3.4 refuses short-hand strings.
func (e Extension) Append(dst []byte) []byte {
	if e.asRead() {
		return append(dst, e.read.raw...)
	}
	dst = strictjson.AppendQuote(append(dst, `{"name":`...), e.Name)
	if e.Configuration != nil {
		dst = append(append(dst, `,"configuration":`...), e.Configuration...)
	}
	if e.Optional {
		dst = append(dst, `,"must_understand":false`...)
	}
	return append(dst, '}')
}

// appendType is Append for a data type, which every reader knows as a plain string where it has no configuration.
func (e Extension) appendType(dst []byte) []byte {
	if !e.asRead() && e.Configuration == nil && !e.Optional {
		return strictjson.AppendQuote(dst, e.Name)
	}
	return e.Append(dst)
}

func (e Extension) asRead() bool { return e.read != nil && e.Equal(e.read.as) }

// usualChain is how many codecs most arrays have at most.
const usualChain = 3

// newExtensions reads an array of extensions.
func newExtensions(v strictjson.Value) ([]Extension, error) {
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("must be an array, got %s", v.Kind())
	}
	list := make([]Extension, 0, usualChain)
	for i, m := range v.Elements() {
		if i == maxChain {
			return nil, v.Errorf("%d entries, at most %d are allowed", v.Len(), maxChain)
		}
		e, err := newExtension(m)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
