// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// createArray creates an array and the groups above it that are missing.
func (h *hierarchy) createArray(ctx context.Context, p store.Path, spec Spec, o CreateOptions) (*Array, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	if spec.Format == 0 {
		spec.Format = o.Format
	}
	a, err := spec.array(base)
	if err != nil {
		return nil, base.fail("create", err)
	}
	if err := a.state.Load().CheckShards(o.Limits.innerChunks()); err != nil {
		return nil, base.fail("create", err)
	}
	above, err := h.lookAbove(ctx, base, spec.Format)
	if err == nil && above.format != a.Format() { // the group above decides the format
		spec.Format = above.format
		a, err = spec.array(base)
	}
	if err != nil {
		return nil, base.fail("create", err)
	}
	s := a.state.Load() // not shared with another goroutine yet
	s.Confirm(time.Now())
	if s.Version, err = h.create(ctx, a.node, s.Doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return a, nil
}

// createGroup creates a group and the groups above it that are missing.
func (h *hierarchy) createGroup(ctx context.Context, p store.Path, attributes any, o CreateOptions) (*Group, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	raw, err := attributesJSON(attributes)
	if err != nil {
		return nil, base.fail("create", err)
	}
	above, err := h.lookAbove(ctx, base, o.Format)
	if err != nil {
		return nil, base.fail("create", err)
	}
	g := newGroup(base, raw, above.format)
	if _, err := h.create(ctx, g.node, g.doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return g, nil
}

// create publishes the documents of a new node. It creates the groups above it and checks
// that the path is free first.
func (h *hierarchy) create(ctx context.Context, n node, doc metadata.Node, up *above, overwrite bool) (version store.Version, err error) {
	h.sweep(ctx)
	raw, beside, err := documents(doc, n.options.Limits)
	if err != nil {
		return version, err
	}
	record, err := doc.Record(n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	if err := h.makeParents(ctx, n, up); err != nil {
		return version, err
	}
	if overwrite {
		version, err = h.replace(ctx, n, raw, beside)
	} else if err = h.checkFree(ctx, n, doc); err == nil {
		version, err = publish.Create(ctx, n.publisher(), raw, beside...)
	}
	if errors.Is(err, store.ErrConflict) && !errors.Is(err, publish.ErrHeld) {
		return version, fmt.Errorf("a node is here already (CreateOptions.Overwrite replaces it): %w", fs.ErrExist)
	}
	if err != nil {
		return version, err
	}
	if err := h.recordMember(ctx, n, record); err != nil {
		return version, fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", ErrIncomplete, err)
	}
	return version, nil
}

// documents returns the documents of a new node: the one that makes it, and in format 2
// that of its attributes, if any.
func documents(doc metadata.Node, l Limits) (raw []byte, beside []publish.File, err error) {
	if raw, err = doc.Marshal(l.metadata()); err != nil || doc.Format() == 3 {
		return raw, nil, err
	}
	attributes, err := doc.MarshalAttributes(l.metadata())
	if err == nil && string(bytes.TrimSpace(attributes)) != "{}" {
		beside = []publish.File{{Name: metadata.V2Attributes, Bytes: attributes}}
	}
	return raw, beside, err
}

// replace deletes everything at the path of a node and publishes a new document there. If
// there is no node, it deletes only the remains of an array.
func (h *hierarchy) replace(ctx context.Context, n node, raw []byte, beside []publish.File) (version store.Version, err error) {
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return version, err
	}
	if found == 0 {
		begun, err := h.unfinished(ctx, n.path)
		if err == nil && !begun {
			err = h.checkRemains(ctx, n.path)
		}
		if err != nil {
			return version, err
		}
	}
	err = n.removing(ctx, func() error {
		version, err = publish.Replace(ctx, n.publisher(), raw, beside...)
		return err
	})
	return version, err
}

// checkRemains returns an error if a path has anything but remains of an array.
func (h *hierarchy) checkRemains(ctx context.Context, p store.Path) error {
	for e, err := range store.List(ctx, h.store, p, false) {
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
	return name == "c" || name == own.Dir || name == metadata.V2Attributes || strings.HasPrefix(name, "c.") || name[0] >= '0' && name[0] <= '9'
}

// above describes the groups above a new node.
type above struct {
	missing []store.Path // groups, from the root on
	format  int          // of the node
}

// lookAbove reads the groups above a new node. The node has the given format, or that of
// the groups if it is 0.
func (h *hierarchy) lookAbove(ctx context.Context, n node, format int) (*above, error) {
	if format != 0 && format != 2 && format != 3 {
		return nil, fault.Argument("format %d; there are 2 and 3", format)
	}
	up := &above{format: format}
	var places []store.Path
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		places = append(places, p)
	}
	found := 0
	for _, p := range slices.Backward(places) {
		s, err := h.reader(n.options.Limits).Load(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			up.missing = append(up.missing, p)
			continue
		}
		if _, isArray := s.Doc.(*metadata.Array); isArray {
			return nil, fault.Argument("%q is an array; it cannot have nodes below it", "/"+p.String())
		}
		if err != nil {
			return nil, err
		}
		found = s.Doc.Format()
	}
	switch {
	case up.format == 0 && found == 0:
		up.format = 3
	case up.format == 0:
		up.format = found
	case found != 0 && found != up.format:
		return nil, fault.Argument("a node of format %d below a group of format %d, whose readers would not see it", up.format, found)
	}
	return up, tree.CheckNames(up.format, append(slices.Clip(up.missing), n.path)...)
}

// makeParents creates the missing groups above a node, from the root down.
func (h *hierarchy) makeParents(ctx context.Context, n node, up *above) error {
	for _, p := range up.missing {
		n.path = p
		g := newGroup(n, []byte("{}"), up.format)
		raw, err := g.doc.Marshal(metadata.Limits{})
		if err != nil {
			return err
		}
		_, err = publish.Create(ctx, g.publisher(), raw)
		if errors.Is(err, store.ErrConflict) {
			continue // a concurrent writer has created it
		}
		if err == nil {
			raw, err = g.doc.Record(metadata.Limits{})
		}
		if err == nil {
			err = h.recordMember(ctx, g.node, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFree returns an error if a node is at the path. For an array it must be empty,
// because old chunks would become part of the array.
func (h *hierarchy) checkFree(ctx context.Context, n node, doc metadata.Node) error {
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return err
	}
	if found != 0 {
		return fmt.Errorf("a node is here already (CreateOptions.Overwrite replaces it): %w", fs.ErrExist)
	}
	if _, isGroup := doc.(*metadata.Group); isGroup {
		return nil
	}
	remains := ""
	for e, err := range store.List(ctx, h.store, n.path, false) {
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
		return fmt.Errorf("the place is not empty: %s is there, and old chunks would become part of the array (CreateOptions.Overwrite removes them): %w", remains, fs.ErrExist)
	}
	return nil
}
