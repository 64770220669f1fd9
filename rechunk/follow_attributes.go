// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"context"
	"slices"

	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/metadata"
)

// followDescription takes over what has changed in the attributes and the names of
// dimensions of the array that is followed. Other attributes, which were set in the array
// that follows, stay.
func (u *update) followDescription(doc *metadata.Array) (*metadata.Array, error) {
	next, err := attributes.Follow(doc.Attributes, u.made.Attributes, u.from.Doc.Attributes)
	if err != nil {
		return nil, err
	}
	if u.described = !bytes.Equal(next, doc.Attributes); u.described {
		if doc, err = doc.WithAttributes(next); err != nil {
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

// describeAfter sets the attributes of an array of format 2 once its elements are
// published, and notes them. If this is not reached, the next call does it.
func (u *update) describeAfter(ctx context.Context) error {
	_, now, err := u.f.compare(ctx)
	// If the array that is followed has changed meanwhile, the next call compares both.
	if err != nil || now.strategy != relabels {
		return err
	}
	return now.renew(ctx)
}

// describe sets the attributes of an array of format 2, which have a document of their
// own.
func (u *update) describe(ctx context.Context) error {
	if !u.described || u.next.Doc.Format() != 2 {
		return nil
	}
	return u.f.SetAttributes(ctx, func(object []byte) ([]byte, error) {
		return attributes.Follow(object, u.made.Attributes, u.from.Doc.Attributes)
	})
}
