// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"encoding/json"
	"reflect"

	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// Extension is the value of an extension point: a data type, chunk grid, chunk key
// encoding, codec or storage transformer with its configuration (zarr-specs v3.1 core,
// "Extension points").
type Extension struct {
	// Name is the registered name or URL, of at most 256 bytes.
	Name string
	// Configuration is a JSON object, verbatim, nil if there is none. Strings in it have
	// at most 64 KiB.
	Configuration []byte
	// Optional is set if the document has "must_understand": false.
	Optional bool

	read *spelling
}

// spelling is an extension as it appeared in a document. The extension is written in the
// same way unless it is changed.
type spelling struct {
	extension Extension
	raw       []byte
}

// ParseExtension parses an extension within a configuration, such as an inner codec of a
// shard or the type of a field. raw is an object with the members "name", "configuration"
// and "must_understand", or a string with the name. Errors are of type [*Error] and wrap
// [ErrInvalid].
func ParseExtension(raw []byte, l Limits) (Extension, error) {
	return parseExtension(raw, l, newExtension)
}

func parseExtension(raw []byte, l Limits, parse func(strictjson.Value) (Extension, error)) (e Extension, err error) {
	v, err := strictjson.Parse(raw, l.json())
	if err == nil {
		e, err = parse(v)
	}
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
	// Remember the spelling, so that an unchanged extension is written as it was.
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
			} else {
				// Configurations may be long, but no single text in them may be.
				err = checkTexts(m)
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

// extensionName reads the name of an extension, in format 2 the id of a codec.
func extensionName(v strictjson.Value) (string, error) {
	name, err := v.Str()
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", v.Errorf("name must not be empty")
	// Each error message quotes the name, so its length must have a limit.
	case len(name) > maxName:
		return "", v.Errorf("a name must have at most %s, and %q has %d", quantity.Count(maxName, "bytes"), strictjson.Abbreviate(name), len(name))
	}
	return name, nil
}

// checkTexts returns an error if there is a text or a name of more than maxText bytes in
// a configuration.
func checkTexts(v strictjson.Value) error {
	raw := v.Raw()
	// No text can be longer than the rest.
	for len(raw) > maxText {
		i := bytes.IndexByte(raw, '"')
		if i < 0 {
			break
		}
		n := nonfinite.TextLength(raw[i:])
		if n > maxText {
			return v.Errorf("a text of %s, more than %d: %s", quantity.Count(n, "bytes"), maxText, strictjson.Abbreviate(raw[i:i+n]))
		}
		raw = raw[i+n:]
	}
	return nil
}

// MarshalJSON returns what [Extension.Append] appends.
func (e Extension) MarshalJSON() ([]byte, error) { return e.Append(nil), nil }

// UnmarshalJSON is [ParseExtension] with the default limits.
func (e *Extension) UnmarshalJSON(raw []byte) (err error) {
	*e, err = ParseExtension(bytes.Clone(raw), Limits{})
	return err
}

// Equal reports whether e and o have the same members. Configurations are equal if they
// are the same JSON value: space and the order of members do not count, the digits of
// numbers do.
func (e Extension) Equal(o Extension) bool {
	return e.Name == o.Name && e.Optional == o.Optional &&
		(e.Configuration == nil) == (o.Configuration == nil) && sameValue(e.Configuration, o.Configuration)
}

// Plain returns e without its original spelling: Append then writes an object. Plain
// drops an empty configuration.
func (e Extension) Plain() Extension {
	if sameValue(e.Configuration, []byte("{}")) {
		e.Configuration = nil
	}
	e.read = nil
	return e
}

// sameValue reports whether two JSON texts are the same value. Text that is not JSON
// equals itself only.
func sameValue(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var values [2]any
	for i, text := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // float64 does not hold every integer
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// Append appends the JSON of e. If e was parsed and not changed, it is written verbatim.
// Otherwise it is an object, because zarr-python 3.4 refuses short-hand strings.
func (e Extension) Append(dst []byte) []byte {
	if e.isUnchanged() {
		// Other programs may have written a short-hand string, or members in another
		// order.
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

// appendType is Append for a data type. Without a configuration it is a plain string,
// which every reader accepts.
func (e Extension) appendType(dst []byte) []byte {
	if !e.isUnchanged() && e.Configuration == nil && !e.Optional {
		return strictjson.AppendQuote(dst, e.Name)
	}
	return e.Append(dst)
}

func (e Extension) isUnchanged() bool { return e.read != nil && e.Equal(e.read.extension) }

// usualChain is the largest number of codecs that most arrays have.
const usualChain = 3

// newExtensions reads a list of extensions.
func newExtensions(v strictjson.Value) ([]Extension, error) {
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("must be an array, got %s", v.Kind())
	}
	list := make([]Extension, 0, usualChain)
	for i, m := range v.Elements() {
		// Check this in the loop, before a long list takes memory.
		if i == maxChain {
			return nil, v.Errorf("%s, at most %d are allowed", quantity.Count(v.Len(), "entries"), maxChain)
		}
		e, err := newExtension(m)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
