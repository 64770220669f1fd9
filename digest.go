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
	text, err := comparison.Digest(ctx, a.compared(), opt.Progress)
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
