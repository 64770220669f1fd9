// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/zarrjson"
	"varve.dev/zarr/store"
)

// DocumentNames are the names of documents in both formats, in the order in which they
// are written. Only the last three make a node.
var DocumentNames = []string{".zattrs", ".zmetadata", ".zarray", ".zgroup", "zarr.json"}

// Record returns the rest of a key after a directory that Varve reserves, if the key has
// one.
func Record(rel string) (string, bool) {
	if what, ok := strings.CutPrefix(rel, own.Dir+"/"); ok {
		return what, true
	}
	_, what, ok := strings.Cut(rel, "/"+own.Dir+"/")
	return what, ok
}

// IsData reports whether a value is copied with the chunks. Documents are not, nor are
// the records of unfinished changes.
func IsData(rel string) bool {
	if what, ok := Record(rel); ok {
		return strings.HasPrefix(what, "aside/") // set aside by a trim; the next writer of the copy moves them
	}
	return !IsDocument(rel)
}

// IsDocument reports whether a key is that of a document.
func IsDocument(key string) bool { return slices.Contains(DocumentNames, path.Base(key)) }

// KindOf returns the kind of node that a document makes: "array", "group" or "".
func KindOf(name string, raw []byte) string {
	switch name {
	case ".zarray":
		return "array"
	case ".zgroup":
		return "group"
	case "zarr.json":
		return zarrjson.NodeType(raw)
	}
	return ""
}

// ReadDocument reads a document. The bytes of an empty one are not nil: it is damaged,
// and not missing.
func ReadDocument(ctx context.Context, s store.Store, key store.Key, l zarr.Limits) ([]byte, error) {
	raw, _, err := s.Get(ctx, key, store.Request{Limit: DocumentLimit(l)}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		err = fmt.Errorf("%w: %w"+remedy.LimitsDocument, zarr.ErrLimit, err)
	}
	if raw == nil && err == nil {
		raw = []byte{}
	}
	return raw, err
}

// DocumentLimit returns the most bytes that a document may have.
func DocumentLimit(l zarr.Limits) int64 {
	if l.Document <= 0 {
		return 64 << 20
	}
	return l.Document
}

// CheckSettled refuses a node that belongs to an unfinished transaction, because its
// documents may not match. Call it after reading the document: the pointer stays until
// all documents are written. It is found by its key, so the store need not be listed.
func CheckSettled(ctx context.Context, s store.Store, p store.Path) error {
	err := publish.CheckPending(ctx, publish.Node{Store: s, Path: p, Document: nodename.V3Node}, store.Key{})
	if errors.Is(err, publish.ErrPending) {
		err = fmt.Errorf("%q: %w; the next change of the node, or opening it with "+remedy.Finish+", finishes it", "/"+p.String(), err)
	}
	return err
}
