// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
)

// Change says what became of a value since a list was written: "changed" if it has other
// bytes, "missing" if it is no longer stored, and "added" if it is not in the list.
type Change string

const (
	changed Change = "changed"
	missing Change = "missing"
	added   Change = "added"
)

// Finding is a value that is not as the list says.
type Finding struct {
	Key    string // relative to the location
	Change Change
}

// Comparison is the result of [Compare].
type Comparison struct {
	Values, Bytes int64 // that are stored
	// Common counts the listed values that are stored, with the listed bytes or others,
	// apart from the documents of the node itself, which every list has. If it is 0, the
	// list was probably written for another node.
	Common int64
	// Findings are the values that are not as the list says: first those that are stored,
	// in the order of the store, and then those that are missing, sorted.
	Findings []Finding
}

// String says how many values there are, and has each finding in a line of its own.
func (c Comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: ", quantity.Of(c.Values, "value"), quantity.Bytes(c.Bytes))
	if len(c.Findings) == 0 {
		b.WriteString("all are as listed")
	} else {
		b.WriteString(quantity.Of(int64(len(c.Findings)), "difference"))
	}
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "\n%s: %s", f.Key, f.Change)
	}
	return b.String()
}

// mostListed bounds the values of a list, which takes about 150 bytes of memory each.
const mostListed = 1 << 26

// Compare reads a list that [Write] or sha256sum has written, and compares all values
// below a location with it. Lines that begin with "./" are taken as well.
//
// If a line is not one of sha256sum, or if one of [Options.Parts] is damaged or missing,
// the error wraps [zarr.ErrInvalidArgument]. If the store cannot list, it wraps
// [zarr.ErrUnsupported].
func Compare(ctx context.Context, at *zarr.Location, list io.Reader, opt *Options) (Comparison, error) {
	r := newReader(at, opt)
	r.DANDI = false
	var c Comparison
	if err := r.readParts(); err != nil {
		return c, r.fail("checksums", err)
	}
	left, err := read(list, mostListed)
	if err != nil {
		// The list is at fault, not the node.
		return c, r.fail("check", fmt.Errorf("%s: %w", cmp.Or(r.List, "the list"), err))
	}
	for v, err := range r.values(ctx) {
		if err != nil {
			return c, r.fail("checksums", err)
		}
		c.Values++
		c.Bytes += v.size
		sum, listed := left[v.key]
		if listed && !nodename.IsDocument(v.key) { // of the node itself: the key is its name
			c.Common++
		}
		switch {
		case !listed:
			c.Findings = append(c.Findings, Finding{v.key, added})
		case sum != v.sha256:
			c.Findings = append(c.Findings, Finding{v.key, changed})
		}
		delete(left, v.key)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		c.Findings = append(c.Findings, Finding{key, missing})
	}
	return c, nil
}
