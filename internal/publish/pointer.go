// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

const (
	pointerName = own.Dir + "/" + own.Pending
	mostPointer = 16 << 20 // bytes

	journalPrefix = own.Dir + "/together-"
	journalSuffix = ".json"
)

// pointerFile is the object beside a node that has a pending transaction or a holder.
type pointerFile struct {
	Journal string          `json:"journal,omitempty"` // key of the journal relative to this node, such as ../t2m/__varve/together-X.json
	Holder  string          `json:"holder,omitempty"`  // the only writer that may change the node
	Note    json.RawMessage `json:"note,omitempty"`    // from the holder

	info store.Info
}

// isEmpty reports whether nothing is pending.
func (p *pointerFile) isEmpty() bool { return p.Journal == "" && p.Holder == "" }

// checkFree returns an error if the node belongs to an unfinished transaction or has
// another holder.
func (n Node) checkFree(ctx context.Context) error {
	p, err := n.pointer(ctx)
	switch {
	case err != nil:
		return err
	case p.Journal != "":
		return ErrPending
	case p.Holder != "" && p.Holder != n.Holder:
		return fmt.Errorf("%w by %.100s%s, which must be published or cancelled first (Array.Reservation)", ErrHeld, p.Holder, p.by())
	case p.Holder != n.Holder:
		// The hold of n.Holder was released in the meantime.
		return noHolder(n.Holder)
	}
	return nil
}

// by returns the user and the program that hold the node, if the note is that of a
// reservation.
func (p *pointerFile) by() string {
	var note struct {
		By store.Holder `json:"by"`
	}
	if json.Unmarshal(p.Note, &note) != nil || note.By == (store.Holder{}) {
		return ""
	}
	return fmt.Sprintf(" of %.200v", note.By)
}

// pointer reads the node's pointer. Without one, it returns an empty pointer.
func (n Node) pointer(ctx context.Context) (pointerFile, error) {
	var p pointerFile
	data, info, err := n.Store.Get(ctx, n.Path.MustKey(pointerName), store.Request{Limit: mostPointer}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, damaged(n.Path.MustKey(pointerName), err)
	}
	p.info = info
	return p, nil
}

// point writes the node's pointer if it has none or an empty one.
func (n Node) point(ctx context.Context, to pointerFile) error {
	old, err := n.pointer(ctx)
	if err != nil {
		return err
	}
	// The pointer of another transaction or holder. Overwriting it would hide the
	// journal from recovery.
	if !old.isEmpty() {
		return ErrPending
	}
	// Without locks, a concurrent writer may store its pointer at the same time. Only
	// one write succeeds.
	on := store.IfAbsent()
	if !old.info.Version.IsZero() {
		on = store.IfVersion(old.info.Version)
	}
	return n.putPointer(ctx, to, on)
}

func (n Node) putPointer(ctx context.Context, p pointerFile, on store.Condition) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// A pointer that is too long to be read would block the node for ever.
	if len(data) > mostPointer {
		return fmt.Errorf("%w: a note of %d bytes, at most %d are allowed", store.ErrTooLarge, len(data), mostPointer)
	}
	_, err = n.putIf(ctx, n.Path.MustKey(pointerName), data, on)
	return err
}

// unpoint removes the node's pointer if it names the journal.
func (n Node) unpoint(ctx context.Context, journal store.Key) error {
	key, p, err := n.journal(ctx)
	// The pointer may be gone already, or name the journal of a later transaction.
	if err != nil || key != journal {
		return err
	}
	return n.clearPointer(ctx, p)
}

// clearPointer removes the node's pointer unless a concurrent writer changed it.
func (n Node) clearPointer(ctx context.Context, p pointerFile) error {
	err := store.DeleteIf(ctx, n.Store, n.Path.MustKey(pointerName), p.info.Version)
	if errors.Is(err, store.ErrUnsupported) {
		// The store has no conditional deletes. An empty pointer means the same as
		// none.
		err = n.putPointer(ctx, pointerFile{}, store.IfVersion(p.info.Version))
	}
	if errors.Is(err, store.ErrConflict) {
		return nil // it belongs to another transaction, or a recovery removed it
	}
	return err
}

// ErrHeld reports that only the holder of a node may change it.
var ErrHeld = fmt.Errorf("%w: the node is held", store.ErrConflict)

// noHolder is the [ErrHeld] of a caller whose hold has ended.
type noHolder string

func (h noHolder) Error() string {
	return fmt.Sprintf("%v: %s no longer holds the node", store.ErrConflict, string(h))
}

func (h noHolder) Is(target error) bool { return target == ErrHeld || target == store.ErrConflict }

// ErrPending reports that the node belongs to an unfinished transaction. Call [Recover]
// first.
var ErrPending = fmt.Errorf("%w: a change of several nodes is not finished", store.ErrConflict)

// isJournal reports whether a key is the name of a journal. Recovery neither writes nor
// deletes other keys, even if a pointer names them.
func isJournal(k store.Key) bool {
	name := k.Dir().Name() + "/" + k.Base()
	return strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix)
}

// outside returns the error for a file beside a node that refers to a place outside the
// store.
func outside(key store.Key, err error) error {
	return fmt.Errorf("%w: %s: %v", metadata.ErrInvalid, key, err)
}

// damaged returns the error for a file beside a node that no version of Varve writes.
func damaged(key store.Key, err error) error {
	return fmt.Errorf("%w: %s is damaged: %v; put it back from a copy of the node, or copy that as a whole", metadata.ErrInvalid, key, err)
}

// putIf writes on a condition, or without one if the store has no conditional writes.
func (n Node) putIf(ctx context.Context, key store.Key, value []byte, on store.Condition) (store.Version, error) {
	v, err := store.PutIf(ctx, n.Store, key, value, on, n.Durability)
	if errors.Is(err, store.ErrUnsupported) {
		v, err = store.Put(ctx, n.Store, key, value, n.Durability)
	}
	return v, err
}

// journal returns the key of the journal that the node's pointer names, or the zero Key.
func (n Node) journal(ctx context.Context) (store.Key, pointerFile, error) {
	p, err := n.pointer(ctx)
	if err != nil || p.Journal == "" {
		return store.Key{}, p, err
	}
	// The pointer is relative to the place of the node without links.
	at, err := store.Resolve(n.Store, n.Path)
	if err != nil {
		return store.Key{}, p, err
	}
	place, err := resolve(at, p.Journal)
	if err != nil {
		return store.Key{}, p, outside(n.Path.MustKey(pointerName), err)
	}
	key, err := store.ParseKey(place)
	// A forged pointer must not make recovery write or delete other objects.
	if err == nil && !isJournal(key) {
		err = fmt.Errorf("%s is not a journal", key)
	}
	if err != nil {
		return store.Key{}, p, damaged(n.Path.MustKey(pointerName), err)
	}
	return key, p, nil
}
