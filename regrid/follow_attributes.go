// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
)

// followDescription takes over what has changed in the attributes and the names of
// dimensions of the array that is followed. Other attributes, which were set in the array
// that follows, stay.
func (u *update) followDescription(doc *metadata.Array) (*metadata.Array, error) {
	attributes, err := followedAttributes(doc.Attributes, u.made.Attributes, u.from.Doc.Attributes)
	if err != nil {
		return nil, err
	}
	if u.described = !bytes.Equal(attributes, doc.Attributes); u.described {
		if doc, err = doc.WithAttributes(attributes); err != nil {
			return nil, err
		}
	}
	// In format 2 the names are an attribute.
	if names := u.from.Doc.DimensionNames; doc.Format() == 3 && !sameNames(names, u.made.doc.DimensionNames) && !sameNames(names, doc.DimensionNames) {
		named := *doc
		named.DimensionNames, u.described = names, true
		doc = &named
	}
	return doc, nil
}

func sameNames(a, b []*string) bool {
	return slices.EqualFunc(a, b, func(x, y *string) bool { return x == y || x != nil && y != nil && *x == *y })
}

// followedAttributes returns attributes with what has changed in those of another array,
// from before to is. Attributes of Varve are about one array, and stay.
func followedAttributes(now, before, is []byte) ([]byte, error) {
	was, err := membersOf(before)
	if err != nil {
		return nil, err
	}
	are, err := membersOf(is)
	if err != nil {
		return nil, err
	}
	for _, m := range are {
		if old, ok := valueOf(was, m.name); ok && bytes.Equal(old, m.value) {
			continue
		}
		present, found, err := metadata.Attribute(now, m.name)
		if err == nil && (!found || !bytes.Equal(compacted(present), m.value)) {
			now, err = metadata.SetAttribute(now, m.name, m.value)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range was {
		if _, stays := valueOf(are, m.name); !stays {
			if now, err = metadata.UnsetAttribute(now, m.name); err != nil {
				return nil, err
			}
		}
	}
	return now, nil
}

// attribute is an attribute with its value, as JSON without white space.
type attribute struct {
	name  string
	value []byte
}

// membersOf returns the attributes of an object, without those of Varve.
func membersOf(object []byte) (list []attribute, err error) {
	if len(object) == 0 {
		return nil, nil
	}
	v, err := strictjson.Parse(object, strictjson.Limits{Size: int64(len(object))})
	if err != nil {
		return nil, err
	}
	for name, m := range v.Members() {
		if !strings.HasPrefix(name, own.Attributes) {
			list = append(list, attribute{name, compacted(m.Raw())})
		}
	}
	return list, nil
}

func valueOf(list []attribute, name string) ([]byte, bool) {
	i := slices.IndexFunc(list, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return nil, false
	}
	return list[i].value, true
}

// compacted returns JSON without white space.
func compacted(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// describe sets the attributes of an array of format 2, which have a document of their
// own.
func (u *update) describe(ctx context.Context) error {
	if !u.described || u.next.Doc.Format() != 2 {
		return nil
	}
	return u.f.SetAttributes(ctx, func(object []byte) ([]byte, error) {
		return followedAttributes(object, u.made.Attributes, u.from.Doc.Attributes)
	})
}
