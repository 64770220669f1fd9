// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// field identifies a member that the specification names, in the order of writing.
type field int

const (
	zarrFormat field = iota
	nodeType
	shape
	dataType
	chunkGrid
	chunkKeyEncoding
	fillValue
	codecs
	storageTransformers
	dimensionNames
	attributes
	consolidatedMetadata
	numFields
)

var fieldNames = [numFields]string{
	"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
	"storage_transformers", "dimension_names", "attributes", "consolidated_metadata",
}

func (f field) String() string { return fieldNames[f] }

// member is an unknown member of a document.
type member struct {
	name string
	raw  []byte
}

// document is the outermost object of a zarr.json, split into members in one pass.
type document struct {
	root    strictjson.Value
	fields  [numFields]strictjson.Value
	kept    []member // unknown members to be written again
	refused error    // error for the first unknown member that must be understood
	repairs []repair
}

func newDocument(root strictjson.Value) (*document, error) {
	if root.Kind() != strictjson.Object {
		return nil, root.Errorf("document must be an object, got %s", root.Kind())
	}
	d := &document{root: root}
	for name, v := range root.Named() {
		// Messages quote names, so they must have a limit.
		if len(name) > maxText {
			return nil, root.Errorf("a member has a name of %d bytes, more than %d: %s", len(name), maxText, strictjson.Abbreviate(name))
		}
		if i := slices.IndexFunc(fieldNames[:], func(f string) bool { return f == string(name) }); i >= 0 {
			d.fields[i] = v
		} else {
			d.unknown(string(name), v)
		}
	}
	return d, nil
}

// unknown keeps a member with "must_understand": false and refuses any other (zarr-specs
// v3.1 core, "Additional fields"). The first refused member is kept as well. A node that
// is described in spite of it then cannot be written without it.
func (d *document) unknown(name string, v strictjson.Value) {
	must, _ := v.Member("must_understand")
	b, err := must.Bool()
	// Only an explicit false permits ignoring the member.
	keep := err == nil && !b
	if !keep && d.refused == nil {
		text := `unknown member; it may be ignored only if it is an object with "must_understand": false`
		d.refused = v.Errorf("%w", unsupported(text))
		keep = true
	}
	if keep {
		d.kept = append(d.kept, member{name, v.Raw()})
	}
}

// disown treats the fields in [from, to) as unknown members, because they belong to the
// other node type.
func (d *document) disown(from, to field) {
	for f := from; f < to; f++ {
		if v := d.fields[f]; !v.IsZero() {
			d.unknown(f.String(), v)
		}
	}
}

// required returns a required field.
func (d *document) required(f field) (strictjson.Value, error) {
	v := d.fields[f]
	if v.IsZero() {
		return v, d.root.Errorf("member %q is missing", f)
	}
	return v, nil
}

// nodeType returns "array" or "group". It also checks the format version.
func (d *document) nodeType() (string, error) {
	v, err := d.required(zarrFormat)
	if err != nil {
		return "", err
	}
	n, err := v.Int64()
	if err != nil {
		return "", err
	}
	if n != 3 {
		return "", v.Errorf("%w", unsupportedf("format version %d; only version 3 is known here", n))
	}
	if v, err = d.required(nodeType); err != nil {
		return "", err
	}
	kind, err := v.Str()
	if err == nil && kind != "array" && kind != "group" {
		err = v.Errorf(`node type must be "array" or "group", got %q`, strictjson.Abbreviate(kind))
	}
	return kind, err
}

// optional returns an optional field. If it is null, the writer had no value for it:
// optional records the repair r and treats the field as missing.
func (d *document) optional(f field, r repair) strictjson.Value {
	v := d.fields[f]
	if !v.IsZero() && v.Kind() == strictjson.Null {
		d.repairs = append(d.repairs, r)
		return strictjson.Value{}
	}
	return v
}

// attributes returns the raw attributes, {} if there are none.
func (d *document) attributes() ([]byte, error) {
	v := d.optional(attributes, nullAttributes)
	if v.IsZero() {
		return []byte("{}"), nil
	}
	if v.Kind() != strictjson.Object {
		return nil, v.Errorf("attributes must be an object, got %s", v.Kind())
	}
	return v.Raw(), nil
}
