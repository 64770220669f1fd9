// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/internal/comparison"
)

// Difference is the first difference of two arrays.
type Difference struct {
	What  string  // "shape", "data type" or "element"
	Index []int64 // of the element, the first one in C order; nil for all else
	A, B  string  // the values in the two arrays, elements in the JSON form of fill values
}

// String returns the difference as one line.
func (d *Difference) String() string {
	if d.Index == nil {
		return fmt.Sprintf("the %s differs: %s and %s", d.What, d.A, d.B)
	}
	return fmt.Sprintf("element %v differs: %s and %s", d.Index, d.A, d.B)
}

// Compare returns the first difference of two arrays in shape, data type or elements, or
// nil. Elements are equal if their bits are: a NaN equals itself, and -0.0 differs from
// 0.0. Grids, codecs and attributes do not matter.
//
// Both arrays are streamed, a few chunks at a time. If most chunks of both are missing,
// only those that one of them stores are read. If a store cannot list and there are too
// many chunks to request each one, the error wraps [ErrLimit].
func Compare(ctx context.Context, a, b *Array) (*Difference, error) {
	if s, t := a.Shape(), b.Shape(); !slices.Equal(s, t) {
		return &Difference{What: "shape", A: fmt.Sprint(s), B: fmt.Sprint(t)}, nil
	}
	if s, t := a.Type(), b.Type(); s != t {
		return &Difference{What: "data type", A: s.String(), B: t.String()}, nil
	}
	d, err := comparison.Compare(ctx, a.core.Compared(a.unread), b.core.Compared(b.unread))
	if d == nil || err != nil {
		return nil, a.fail("list", err)
	}
	return &Difference{What: "element", Index: d.Index, A: d.A, B: d.B}, nil
}

// unread returns err as an error of reading the array.
func (a *Array) unread(err error) error { return a.fail("read", err) }

// DigestOptions are the options of [Array.Digest] and [Group.Digest]. A nil
// *DigestOptions is the zero value.
type DigestOptions struct {
	// Progress, if not nil, is called for each part that was read, with the number of its
	// elements, from several goroutines. Elements of missing chunks may be left out.
	Progress func(elements int64)
	// Found, if not nil, is called by [Group.Digest] with the digest of each array below
	// the group.
	Found func(path, digest string)
}

// Digest returns a short text that is equal for two arrays exactly if their data types,
// shapes and values are equal. It does not depend on chunks, codecs, byte order, format,
// fill value or attributes, so a copy, a conversion or another grid keeps it. A missing
// chunk counts as its fill values. Values are equal if their bits are: a NaN equals only
// a NaN with the same payload, and -0.0 differs from 0.0.
//
// Digests find accidents. They do not protect against forgery, because arrays with the
// same digest can be made on purpose.
//
// Each stored chunk is decoded once, several at a time. Of arrays in which most chunks
// are missing, only the stored ones are read. Writes during the call may be part of the
// digest or not. The error wraps [ErrLimit] if the values have more than 2^63 bytes.
func (a *Array) Digest(ctx context.Context, opt *DigestOptions) (string, error) {
	if opt == nil {
		opt = &DigestOptions{}
	}
	text, err := comparison.Digest(ctx, a.core.Compared(a.unread), opt.Progress)
	return text, a.fail("digest", err)
}

// Digest returns the digest of all arrays below the group: the SHA-256 of one line for
// each, sorted by path, with its digest, two spaces and its path. Groups without arrays
// and attributes do not count.
func (g *Group) Digest(ctx context.Context, opt *DigestOptions) (string, error) {
	digests := map[string]string{}
	for m, err := range g.Members(ctx, true) {
		if err = errors.Join(err, m.Err); err != nil {
			return "", err
		}
		a, isArray := m.Node.(*Array)
		if !isArray {
			continue
		}
		digest, err := a.Digest(ctx, opt)
		if err != nil {
			return "", err
		}
		digests[m.Path] = digest
		if opt != nil && opt.Found != nil {
			opt.Found(m.Path, digest)
		}
	}
	hash := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(hash, "%s  %s\n", digests[path], path)
	}
	return fmt.Sprintf("%s%x", comparison.DigestPrefix, hash.Sum(nil)), nil
}
