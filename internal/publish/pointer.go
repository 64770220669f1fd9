package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// pointerFile is what stands beside a node that has something pending: a change of
// several nodes, or a holder.
type pointerFile struct {
	Journal string          `json:"journal,omitempty"` // key of the journal, from this node, as ../t2m/__varve/together-X.json
	Holder  string          `json:"holder,omitempty"`  // who alone may change the node
	Note    json.RawMessage `json:"note,omitempty"`    // of the holder

	info store.Info
}

// isEmpty reports whether nothing is pending.
func (p *pointerFile) isEmpty() bool { return p.Journal == "" && p.Holder == "" }

// isPending refuses a node that is part of an unfinished change, or that somebody else
// holds.
func (n Node) isPending(ctx context.Context) error {
	p, err := n.pointer(ctx)
	switch {
	case err != nil:
		return err
	case p.Journal != "":
		return ErrPending
	case p.Holder != "" && p.Holder != n.Holder:
		return fmt.Errorf("%w by %.100s%s, which has to be published or cancelled first (Array.Reservation)", ErrHeld, p.Holder, p.by())
	case p.Holder != n.Holder:
		return noHolder(n.Holder)
	}
	return nil
}

// by says who made the hold, where the note tells, as that of a reservation does.
func (p *pointerFile) by() string {
	var note struct {
		By store.Holder `json:"by"`
	}
	if json.Unmarshal(p.Note, &note) != nil || note.By == (store.Holder{}) {
		return ""
	}
	return fmt.Sprintf(" of %.200v", note.By)
}

// pointer returns what is pending at the node.
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

// point makes the node's pointer say something where it says nothing.
func (n Node) point(ctx context.Context, to pointerFile) error {
	old, err := n.pointer(ctx)
	if err != nil {
		return err
	}
	if !old.isEmpty() {
		return ErrPending
	}
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
	if len(data) > mostPointer {
		return fmt.Errorf("%w: a note of %d bytes, at most %d can be read again", store.ErrTooLarge, len(data), mostPointer)
	}
	_, err = n.putIf(ctx, n.Path.MustKey(pointerName), data, on)
	return err
}

// unpoint removes the node's pointer if it names the journal.
func (n Node) unpoint(ctx context.Context, journal store.Key) error {
	key, p, err := n.journal(ctx)
	if err != nil || key != journal {
		return err
	}
	return n.clearPointer(ctx, p)
}

// clearPointer removes the node's pointer unless somebody else has changed it.
func (n Node) clearPointer(ctx context.Context, p pointerFile) error {
	err := store.DeleteIf(ctx, n.Store, n.Path.MustKey(pointerName), p.info.Version)
	if errors.Is(err, store.ErrUnsupported) {
		err = n.putPointer(ctx, pointerFile{}, store.IfVersion(p.info.Version))
	}
	if errors.Is(err, store.ErrConflict) {
		return nil // somebody else did
	}
	return err
}
