// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"varve.dev/zarr/store"
)

// Writers of a region take no lock. Another writer may replace the grid while they store
// their chunks, so they look at the document afterwards. But a change that copies the
// present chunks to a new grid ([Change.Warn]) compares their versions at one moment, and
// publishes at a later one. A chunk that is stored in between would be lost, although the
// document did not change before its writer looked.
//
// So the change warns before it compares: it marks the document. A writer that finds the
// document without a mark after it has stored its chunks knows that the comparison is yet
// to come. One that finds the mark must not rely on the comparison: it waits for the lock
// or, in a store without locks, disturbs the change ([Disturb]).
//
// A transaction of several nodes ([UpdateAll]) publishes a document even if it was
// disturbed after the journal was stored. So a writer that has found the mark also looks
// for a pointer to a journal ([CheckPending]), and finishes the transaction before it
// looks at the document again. The pointer is stored before the fence, so either the
// writer finds it, or the fence fails.
//
// The mark is a space at the end of the document, before the last newline. Every new
// document is without it. A crash leaves it, which costs later writers a request.
const mark = " "

// marked returns a document with the mark of a warning.
func marked(document []byte) []byte {
	t := trailOf(document)
	t.warned = true
	return t.end(document)
}

// Warned reports whether a document has the mark of a warning.
func Warned(document []byte) bool {
	return strings.HasSuffix(string(bytes.TrimRight(document, "\n")), mark)
}

// Disturb gives the document of a node another version, if it still has the given one. A
// change that was planned on that version can then no longer be published, and is planned
// again. If the version is another one already, the error wraps [store.ErrConflict].
func Disturb(ctx context.Context, n Node, version store.Version) error {
	d, err := n.read(ctx)
	if err != nil {
		return err
	}
	if d.Version != version {
		return fmt.Errorf("%w: the document was published again", store.ErrConflict)
	}
	if err := n.room(d.Bytes); err != nil {
		return err
	}
	_, err = store.PutIf(ctx, n.Store, n.key(), fenced(d.Bytes, newID()), store.IfVersion(version), n.Durability)
	return err
}
