// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// CheckRemains returns an error if a path has anything but remains of an array.
func (n Node) CheckRemains(ctx context.Context) error {
	for e, err := range store.List(ctx, n.Store, n.Path, store.Flat) {
		if err != nil {
			return err
		}
		if !isRemains(e.Name) {
			return fmt.Errorf("the place has no Zarr node but %s, which is never overwritten: %w", e.Name, fs.ErrExist)
		}
	}
	return nil
}

// isRemains reports whether an entry can belong to the remains of an array: chunks, their
// directory, or staged chunks.
func isRemains(name string) bool {
	return name == "c" || name == own.Dir || name == nodename.V2Attributes || strings.HasPrefix(name, "c.") || name[0] >= '0' && name[0] <= '9'
}

// Above describes the groups above a new node.
type Above struct {
	Missing []store.Path // groups, from the root on
	Format  int          // of the node
}

// LookAbove reads the groups above a new node. The node has the given format, or that of
// the groups if it is 0.
func (n Node) LookAbove(ctx context.Context, format int) (*Above, error) {
	if format != 0 && format != 2 && format != 3 {
		return nil, fault.Argument("format %d; there are 2 and 3", format)
	}
	up := &Above{Format: format}
	var places []store.Path
	for p := n.Path; !p.IsRoot(); {
		p = p.Parent()
		places = append(places, p)
	}
	found := 0
	for _, p := range slices.Backward(places) {
		s, err := n.Reader().Load(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			up.Missing = append(up.Missing, p)
			continue
		}
		if _, isArray := s.Doc.(*metadata.Array); isArray {
			return nil, fault.Argument("%q is an array; it cannot have nodes below it", "/"+p.String())
		}
		if err != nil {
			return nil, err
		}
		// From the root down, so the nearest group decides.
		found = s.Doc.Format()
	}
	switch {
	case up.Format == 0 && found == 0:
		up.Format = 3
	case up.Format == 0:
		up.Format = found
	case found != 0 && found != up.Format:
		return nil, fault.Argument("a node of format %d below a group of format %d, whose readers would not see it", up.Format, found)
	}
	return up, CheckNames(up.Format, append(slices.Clip(up.Missing), n.Path)...)
}

// MakeParents creates the missing groups above a node, from the root down.
func (n Node) MakeParents(ctx context.Context, up *Above) error {
	for _, p := range up.Missing {
		doc := NewGroup([]byte("{}"), up.Format)
		n.Path, n.Document = p, doc.Document()
		raw, err := doc.Marshal(metadata.Limits{})
		if err != nil {
			return err
		}
		_, err = publish.Create(ctx, n.Node, raw)
		if errors.Is(err, store.ErrConflict) {
			continue // a concurrent writer has created it
		}
		if err == nil {
			raw, err = metadata.Record(doc, metadata.Limits{})
		}
		if err == nil {
			err = n.RecordMember(ctx, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckFree returns an error if a node is at the path. For an array it must be empty,
// because old chunks would become part of the array.
func (n Node) CheckFree(ctx context.Context, doc metadata.Node) error {
	found, err := Format(ctx, n.Store, n.Path)
	if err != nil {
		return err
	}
	if found != 0 {
		return fmt.Errorf("a node is here already ("+remedy.CreateOverwrite+" replaces it, or choose another name): %w", fs.ErrExist)
	}
	// A group has no chunks, so what lies below it does not become part of it.
	if _, isGroup := doc.(*metadata.Group); isGroup {
		return nil
	}
	remains := ""
	for e, err := range store.List(ctx, n.Store, n.Path, store.Flat) {
		// Without a listing, remains cannot be found.
		if errors.Is(err, store.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		// Overwrite refuses to remove such a name, so the message may not advise it.
		if !isRemains(e.Name) {
			return fmt.Errorf("the place is not empty: %s is there, which is no part of a Zarr node; remove it, or choose another place: %w", e.Name, fs.ErrExist)
		}
		remains = e.Name
	}
	if remains != "" {
		return fmt.Errorf("the place is not empty: %s is there, and old chunks would become part of the array ("+remedy.CreateOverwrite+" removes them): %w", remains, fs.ErrExist)
	}
	return nil
}

// Unfinished reports whether an interrupted copy or removal has left something at the
// path. This is not a node, but it can be deleted like one.
func (n Node) Unfinished(ctx context.Context) (bool, error) {
	return store.Exists(ctx, n.Store, n.Path.MustKey(publish.Unfinished))
}

// NewGroup returns the document of a group of a format with the given attributes.
func NewGroup(attributes []byte, format int) *metadata.Group {
	doc := &metadata.Group{Attributes: attributes}
	if format == 2 {
		doc = doc.ToV2()
	}
	return doc
}

// NewDocuments returns the documents of a new node: the one that makes it, and in format
// 2 that of its attributes, if any.
func NewDocuments(doc metadata.Node, l metadata.Limits) (raw []byte, beside []publish.File, err error) {
	if raw, err = doc.Marshal(l); err != nil || doc.Format() == 3 {
		return raw, nil, err
	}
	attributes, err := doc.MarshalAttributes(l)
	if err == nil && string(bytes.TrimSpace(attributes)) != "{}" {
		beside = []publish.File{{Name: nodename.V2Attributes, Bytes: attributes}}
	}
	return raw, beside, err
}

// pendingMember is the error for a member of a group that is part of a pending
// transaction.
type pendingMember struct {
	member Node
	err    error
}

func (p *pendingMember) Error() string { return p.err.Error() }

func (p *pendingMember) Unwrap() error { return p.err }

// CheckPending returns an error if a node is part of a pending transaction with another
// journal.
func (n Node) CheckPending(ctx context.Context, journal store.Key) error {
	err := publish.CheckPending(ctx, n.Node, journal)
	if errors.Is(err, publish.ErrPending) {
		err = &pendingMember{n, err}
	}
	return err
}

// FinishMember completes the pending transaction that err reports, if any. It returns
// err, joined with the error of completing it.
func FinishMember(ctx context.Context, err error) error {
	var p *pendingMember
	if errors.As(err, &p) {
		_, othersErr := p.member.FinishTransaction(ctx)
		return errors.Join(othersErr, err)
	}
	return err
}

// FinishTransaction rolls a pending transaction that this node is part of forward or
// back. It reports whether there was one, or whether the node is held by a reservation.
func (n Node) FinishTransaction(ctx context.Context) (found bool, err error) {
	if found, err = publish.Recover(ctx, n.Node, Refresh(n.Limits)); err != nil {
		err = &othersError{err}
	}
	return found, err
}

// FinishPending calls [Node.FinishTransaction] until no other writer is in the way.
func (n Node) FinishPending(ctx context.Context) error {
	return publish.Retry(ctx, func() error {
		_, err := n.FinishTransaction(ctx)
		return err
	})
}

// othersError is an error while completing a change of another writer. It does not match
// errors about the outcome of a change, because the caller's own change has not begun.
type othersError struct{ err error }

func (o *othersError) Error() string {
	return "finishing a change that another writer began: " + o.err.Error()
}

func (o *othersError) Is(target error) bool {
	return target != publish.ErrIncomplete && target != publish.ErrDecided && target != publish.ErrOutcomeUnknown && errors.Is(o.err, target)
}
