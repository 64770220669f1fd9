package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// CreateOptions says how nodes are created. The nodes are open for writing.
type CreateOptions struct {
	Options
	// Overwrite removes what is at the path first, with all nodes below it. It is not one step: a crash in between leaves
	// nothing at the path.
	Overwrite bool
}

func (o *CreateOptions) orZero() CreateOptions {
	if o == nil {
		o = new(CreateOptions)
	}
	c := *o
	c.Write = true
	return c
}

// CreateArray creates an array at path, and the groups above it that are missing. Nothing but its document is written:
// every element is the fill value. A path where something is wraps [fs.ErrExist].
func (h *Hierarchy) CreateArray(ctx context.Context, path string, spec Spec, opt *CreateOptions) (*Array, error) {
	o := opt.orZero()
	p, err := store.ParsePath(path)
	if err != nil {
		return nil, fail("create", path, err)
	}
	base := node{hierarchy: h, path: p, options: o.Options}
	a, err := spec.array(base)
	if err != nil {
		return nil, base.fail("create", err)
	}
	s := a.state.Load() // nobody else has it yet
	if err := s.writable(o.Limits.innerChunks()); err != nil {
		return nil, base.fail("create", err)
	}
	s.confirm(time.Now())
	if s.version, err = h.create(ctx, base, s.doc, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return a, nil
}

// CreateGroup creates a group at path, and the groups above it that are missing. attributes is anything that encodes to a JSON
// object, nil for none. A path where a node is wraps [fs.ErrExist].
func (h *Hierarchy) CreateGroup(ctx context.Context, path string, attributes any, opt *CreateOptions) (*Group, error) {
	o := opt.orZero()
	p, err := store.ParsePath(path)
	if err != nil {
		return nil, fail("create", path, err)
	}
	base := node{hierarchy: h, path: p, options: o.Options}
	raw, err := attributesJSON(attributes)
	if err != nil {
		return nil, base.fail("create", err)
	}
	g := &Group{base, &metadata.Group{Attributes: raw}}
	if _, err := h.create(ctx, base, g.doc, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return g, nil
}

// create publishes the document of a new node once the groups above it are there and its place is free.
func (h *Hierarchy) create(ctx context.Context, n node, doc metadata.Node, overwrite bool) (version store.Version, err error) {
	raw, err := doc.Marshal(n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	if err := h.makeParents(ctx, n); err != nil {
		return version, err
	}
	if overwrite {
		version, err = h.replace(ctx, n, raw)
	} else if err = h.checkFree(ctx, n, doc); err == nil {
		version, err = publish.Create(ctx, n.publisher(), raw)
	}
	if errors.Is(err, store.ErrConflict) {
		return version, fmt.Errorf("a node is here already (CreateOptions.Overwrite or --overwrite replaces it): %w", fs.ErrExist)
	}
	if err != nil {
		return version, err
	}
	if err := h.recordMember(ctx, n, raw); err != nil {
		return version, fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", ErrIncomplete, err)
	}
	return version, nil
}

// replace removes what is at a node's place and publishes another document there. A place without a node is only
// replaced if nothing is there but what is left of an array.
func (h *Hierarchy) replace(ctx context.Context, n node, raw []byte) (version store.Version, err error) {
	found, err := store.Exists(ctx, h.store, n.path.Key(documentName))
	if err != nil {
		return version, err
	}
	if !found {
		if err := h.checkRemains(ctx, n.path); err != nil {
			return version, err
		}
	}
	_, leave, err := n.enter(ctx, allTurns)
	if err != nil {
		return version, err
	}
	defer leave()
	return publish.Remove(ctx, n.publisher(), raw)
}

// checkRemains refuses a place that holds anything but what may be left of an array.
func (h *Hierarchy) checkRemains(ctx context.Context, p store.Path) error {
	for e, err := range store.List(ctx, h.store, p, false) {
		if err != nil {
			return err
		}
		if !isRemains(e.Name) {
			return fmt.Errorf("no Zarr node is here but %s, which is not to be overwritten: %w", e.Name, fs.ErrExist)
		}
	}
	return nil
}

// isRemains reports whether a name may be that of chunks, of the directory that holds them, or of what a change puts aside.
func isRemains(name string) bool {
	return name == "c" || name == "__varve" || strings.HasPrefix(name, "c.") || name[0] >= '0' && name[0] <= '9'
}

// makeParents creates the groups above a node that are missing, from the root on.
func (h *Hierarchy) makeParents(ctx context.Context, n node) error {
	if n.path.IsRoot() {
		return nil
	}
	var above []store.Path
	for p := n.path.Parent(); ; p = p.Parent() {
		above = append(above, p)
		if p.IsRoot() {
			break
		}
	}
	raw, err := (&metadata.Group{Attributes: []byte("{}")}).Marshal(metadata.Limits{})
	if err != nil {
		return err
	}
	for i := len(above) - 1; i >= 0; i-- {
		if err := h.makeParent(ctx, n, above[i], raw); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hierarchy) makeParent(ctx context.Context, n node, p store.Path, raw []byte) error {
	data, _, err := h.store.Get(ctx, p.Key(documentName), store.Request{Limit: n.options.Limits.document()}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		n.path = p
		_, err := publish.Create(ctx, n.publisher(), raw)
		if errors.Is(err, store.ErrConflict) {
			return nil // somebody else just made it
		}
		if err == nil {
			err = h.recordMember(ctx, n, raw)
		}
		return err
	}
	if err != nil {
		return err
	}
	doc, err := metadata.Parse(data, n.options.Limits.metadata())
	if _, isArray := doc.(*metadata.Array); isArray {
		return badArgument("%q is an array; it cannot have nodes below it", "/"+p.String())
	}
	return err
}

// checkFree refuses a place where a node is, and for an array one where anything is: old chunks would become its own.
func (h *Hierarchy) checkFree(ctx context.Context, n node, doc metadata.Node) error {
	found, err := store.Exists(ctx, h.store, n.path.Key(documentName))
	if err != nil {
		return err
	}
	if found {
		return fmt.Errorf("a node is here already (CreateOptions.Overwrite or --overwrite replaces it): %w", fs.ErrExist)
	}
	if _, isGroup := doc.(*metadata.Group); isGroup {
		return nil
	}
	for e, err := range store.List(ctx, h.store, n.path, false) {
		if errors.Is(err, store.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("the place is not empty: %s is there, and old chunks would become part of the array (CreateOptions.Overwrite or --overwrite removes them): %w", e.Name, fs.ErrExist)
	}
	return nil
}

// Delete removes the node at path with everything below it. A path without a node wraps [fs.ErrNotExist].
func (h *Hierarchy) Delete(ctx context.Context, path string, opt *Options) error {
	p, err := store.ParsePath(path)
	if err != nil {
		return fail("delete", path, err)
	}
	n := node{hierarchy: h, path: p, options: opt.orZero()}
	return n.fail("delete", h.remove(ctx, n))
}

func (h *Hierarchy) remove(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	found, err := store.Exists(ctx, h.store, n.path.Key(documentName))
	if err != nil {
		return err
	}
	if !found {
		return h.describe(ctx, n.path)
	}
	if err := h.recordMember(ctx, n, nil); err != nil {
		return err
	}
	_, leave, err := n.enter(ctx, allTurns)
	if err != nil {
		return err
	}
	defer leave()
	_, err = publish.Remove(ctx, n.publisher(), nil)
	return err
}
