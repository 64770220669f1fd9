// SPDX-License-Identifier: Apache-2.0

// Package tree finds nodes in a store and reads their documents.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Documents has the names of the documents that make a node, in the order of the
// look-up. A node that has documents of both formats is one of format 3.
var Documents = []string{metadata.V3Node, metadata.V2Array, metadata.V2Group}

// ErrNoNode reports a path without a node. It wraps [fs.ErrNotExist]. [Reader.Describe]
// describes the path, which takes a listing.
var ErrNoNode error = fault.NotFound("no Zarr node here")

// Reader reads the documents of nodes.
type Reader struct {
	Store  store.Store
	Limits metadata.Limits // Document must be set

	known map[string]reply // documents that were read already, by name
	// hides is set for a store that refuses access to a document that is missing.
	hides bool
}

// reply is the result of reading a document.
type reply struct {
	data []byte
	info store.Info
	err  error
}

// Stored is a node as its documents describe it.
type Stored struct {
	Doc    metadata.Node
	Info   store.Info // of the document that makes the node
	Copies store.Info // of the document with the consolidated metadata of a group
	Warned bool       // the document has the mark of a warning; see [publish.Warned]
}

// Load reads the documents of the node at p. It returns ErrNoNode for a path without a
// node. A document with an extension that is not supported is returned together with an
// error that wraps [metadata.ErrUnsupported]: such a node can be described, not opened.
func (r Reader) Load(ctx context.Context, p store.Path) (s Stored, err error) {
	data, info, err := r.document(ctx, p, metadata.V3Node)
	// Only now look for format 2: a node with documents of both formats is one of format
	// 3.
	if errors.Is(err, fs.ErrNotExist) {
		return r.loadV2(ctx, p)
	}
	if _, near := store.As[store.Opener](r.Store); !near && errors.Is(err, fs.ErrPermission) {
		return r.loadHidden(ctx, p, err)
	}
	if err != nil {
		return s, err
	}
	doc, err := metadata.Parse(data, r.Limits)
	return Stored{doc, info, info, publish.Warned(data)}, fault.InFile(p.MustKey(metadata.V3Node), err)
}

// loadHidden is [Reader.loadV2] after access to zarr.json was refused. Object stores do
// that for missing objects too, if the user may not list them, as in some public buckets.
// If there is no node of format 2, the refusal may have been one, so it is the error.
func (r Reader) loadHidden(ctx context.Context, p store.Path, refused error) (Stored, error) {
	r.hides = true
	s, err := r.loadV2(ctx, p)
	if errors.Is(err, ErrNoNode) {
		err = refused
	}
	return s, err
}

func (r Reader) loadV2(ctx context.Context, p store.Path) (s Stored, err error) {
	for i, name := range Documents[1:] {
		if _, near := store.As[store.Opener](r.Store); !near {
			r.known = r.together(ctx, p, companions[i])
		}
		data, info, err := r.document(ctx, p, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		attributes, err := r.Attributes(ctx, p)
		if err != nil {
			return s, err
		}
		s = Stored{Info: info, Warned: publish.Warned(data)}
		s.Doc, err = metadata.ParseV2(name, data, attributes, r.Limits)
		if g, ok := s.Doc.(*metadata.Group); ok && err == nil {
			s.Doc, s.Copies, err = r.withConsolidated(ctx, p, g)
		}
		return s, fault.InFile(p.MustKey(name), err)
	}
	return s, ErrNoNode
}

// companions are the documents of format 2 that belong together: those of an array, and
// the further ones of a group.
var companions = [...][]string{{metadata.V2Array, metadata.V2Attributes}, {metadata.V2Group, metadata.V2Consolidated}}

// together reads documents in one round trip. It keeps those that r knows.
func (r Reader) together(ctx context.Context, p store.Path, names []string) map[string]reply {
	replies := make([]reply, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { replies[i].data, replies[i].info, replies[i].err = r.document(ctx, p, name) })
	}
	all.Wait()
	known := maps.Clone(r.known)
	if known == nil {
		known = map[string]reply{}
	}
	for i, name := range names {
		known[name] = replies[i]
	}
	return known
}

// document returns the bytes of a document.
func (r Reader) document(ctx context.Context, p store.Path, name string) ([]byte, store.Info, error) {
	if k, ok := r.known[name]; ok {
		return k.data, k.info, k.err
	}
	data, info, err := r.Store.Get(ctx, p.MustKey(name), store.Request{Limit: r.Limits.Document}, nil)
	switch {
	case errors.Is(err, store.ErrTooLarge):
		err = fmt.Errorf("%w: %w (Limits.Document)", engine.ErrLimit, err)
	case r.hides && errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return data, info, err
}

// Attributes returns the attributes document of a node of format 2, nil if it has none.
func (r Reader) Attributes(ctx context.Context, p store.Path) ([]byte, error) {
	data, _, err := r.document(ctx, p, metadata.V2Attributes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// withConsolidated adds the consolidated metadata of a group of format 2. It only has
// copies of other documents, so a damaged one does not make the group unreadable.
func (r Reader) withConsolidated(ctx context.Context, p store.Path, g *metadata.Group) (metadata.Node, store.Info, error) {
	data, info, err := r.document(ctx, p, metadata.V2Consolidated)
	if errors.Is(err, fs.ErrNotExist) {
		return g, info, nil
	}
	if err != nil {
		return nil, info, err
	}
	c, err := metadata.ParseConsolidatedV2(data, r.Limits)
	g = g.WithConsolidated(c)
	g.Damaged = err
	return g, info, nil
}

// Record returns the entry of the node at p for consolidated metadata, with the bytes
// that are stored, and the format of the node.
func (r Reader) Record(ctx context.Context, p store.Path) (raw []byte, format int, err error) {
	raw, _, err = r.document(ctx, p, metadata.V3Node)
	if !errors.Is(err, fs.ErrNotExist) {
		// Do not parse the document: a node with an unknown extension is recorded as it
		// is.
		return bytes.TrimSpace(raw), 3, err
	}
	for _, name := range Documents[1:] {
		document, _, nameErr := r.document(ctx, p, name)
		if errors.Is(nameErr, fs.ErrNotExist) {
			continue
		}
		if nameErr != nil {
			return nil, 2, nameErr
		}
		attributes, err := r.Attributes(ctx, p)
		if err != nil {
			return nil, 2, err
		}
		raw, err = metadata.RecordV2(name, document, attributes, r.Limits)
		return raw, 2, err
	}
	return nil, 0, err
}

// Type returns "array" or "group" for a node that cannot be opened, or "" if its
// documents do not contain it.
func (r Reader) Type(ctx context.Context, p store.Path) string {
	data, _, err := r.document(ctx, p, metadata.V3Node)
	if errors.Is(err, fs.ErrNotExist) {
		return r.typeV2(ctx, p)
	}
	if err != nil {
		return ""
	}
	return metadata.NodeType(data)
}

func (r Reader) typeV2(ctx context.Context, p store.Path) string {
	for _, d := range [...]struct{ document, kind string }{{metadata.V2Array, "array"}, {metadata.V2Group, "group"}} {
		if found, err := store.Exists(ctx, r.Store, p.MustKey(d.document)); err == nil && found {
			return d.kind
		}
	}
	return ""
}

// Format returns the format of the node at p, 0 if there is none.
func Format(ctx context.Context, s store.Store, p store.Path) (int, error) {
	for _, name := range Documents {
		found, err := store.Exists(ctx, s, p.MustKey(name))
		switch {
		case err != nil:
			return 0, err
		case found && name == metadata.V3Node:
			return 3, nil
		case found:
			return 2, nil
		}
	}
	return 0, nil
}

// Shadowed returns the names of the documents of format 2 beside the document of a node
// of format 3. Programs that know only format 2 see another node there.
func Shadowed(ctx context.Context, s store.Store, p store.Path) ([]string, error) {
	asked := Documents[1:]
	found, errs := make([]bool, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup // in a far store, these take one round trip
	for i, name := range asked {
		all.Go(func() { found[i], errs[i] = store.Exists(ctx, s, p.MustKey(name)) })
	}
	all.Wait()
	var names []string
	for i, name := range asked {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if found[i] {
			names = append(names, name)
		}
	}
	return names, nil
}

// Describe returns an [fs.ErrNotExist] that describes a path without a node.
func Describe(ctx context.Context, s store.Store, p store.Path) error {
	var names []string
	for e, err := range store.Usable(store.List(ctx, s, p, false)) {
		if err != nil {
			break
		}
		names = append(names, strconv.Quote(e.Name))
	}
	if slices.Sort(names); len(names) > 4 {
		names = append(names[:4], "…")
	}
	if len(names) > 0 {
		return fault.NotFound("no Zarr node here, only " + strings.Join(names, ", "))
	}
	if key, err := store.ParseKey(p.String()); err == nil {
		if found, _ := store.Exists(ctx, s, key); found {
			return fault.NotFound("no Zarr node here, only a file")
		}
	}
	return ErrNoNode
}
