// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// Scan is the request of a virtual scan: the files become one manifest at Work.Target. A
// task scans some of the files, and stores its scans in the folder of the manifest. The
// publication joins them.
type Scan struct {
	// Files are absolute locations, in order.
	Files []string `json:"files"`
	// Append adds the files to a manifest that exists, in the same way as before.
	Append bool `json:"append,omitempty"`
	// The others are those of [virtual.Join].
	Concat     string `json:"concat,omitempty"`
	Stack      string `json:"stack,omitempty"`
	CopyPadded bool   `json:"copy_padded,omitempty"`
	Padded     bool   `json:"encoded_shapes,omitempty"`
	Compare    bool   `json:"compare,omitempty"`
	// Without lists patterns of the paths of arrays to leave out.
	Without []string `json:"without,omitempty"`
	// Concurrency is the number of files that a task scans at once; 0 is the default.
	Concurrency int `json:"concurrency,omitempty"`
}

// scanning executes a virtual scan.
type scanning struct {
	*Work
	Scan
}

func newScanning(w *Work) (operation, error) {
	s := &scanning{Work: w}
	switch err := w.decode(&s.Scan); {
	case err != nil:
		return nil, err
	case w.Target == nil || !strings.HasSuffix(*w.Target, virtual.Suffix):
		return nil, fmt.Errorf("the target of a scan must be a manifest, a name that ends in %s", virtual.Suffix)
	case len(s.Files) == 0:
		return nil, errors.New("a scan needs files")
	}
	return s, nil
}

// scan is an open collector, and the place of the manifest.
type scan struct {
	*virtual.Collector
	at   store.Store
	path store.Path
}

// open opens the place of the manifest.
func (s *scanning) open(ctx context.Context) (*scan, error) {
	at, key, err := openFile(ctx, *s.Target, store.Create)
	if err != nil {
		return nil, err
	}
	o := &scan{at: at}
	if o.path, err = store.ParsePath(key.String()); err == nil {
		o.Collector, err = virtual.NewCollector(*s.Target)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close(at))
	}
	o.Concurrency, o.Without = s.Concurrency, s.Without
	if err := o.Keep(ctx, o.at, o.path); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// Close closes the collector and the store.
func (o *scan) Close() error {
	o.Collector.Close()
	return store.Close(o.at)
}

// begin returns an empty hierarchy, or that of the manifest that exists.
func (s *scanning) begin(ctx context.Context, o *scan, exists bool) (*virtual.Joined, error) {
	if !s.Append && !exists {
		return virtual.NewJoined(virtual.Join{Concat: s.Concat, Stack: s.Stack, Padded: s.Padded, CopyPadded: s.CopyPadded, Compare: s.Compare})
	}
	m, err := virtual.Open(ctx, o.at, o.path)
	if err != nil {
		return nil, err
	}
	m.Join.CopyPadded = m.Join.CopyPadded || s.CopyPadded
	m.Join.Compare = s.Compare
	return virtual.Extend(ctx, m, *s.Target)
}

// do scans the files of a task. Files that others have scanned are passed over.
func (s *scanning) do(ctx context.Context, _ *Worker, t Task, _ *Record) (err error) {
	o, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	exists, err := store.Exists(ctx, o.at, o.path.MustKey(own.ManifestDocument))
	if err != nil || exists && !s.Append { // a task that comes late
		return err
	}
	j, err := s.begin(ctx, o, false)
	if err != nil {
		return err
	}
	return s.fail(o.Scan(ctx, j, s.part(t)))
}

// part returns the files of a task, which follow each other.
func (s *scanning) part(t Task) []string {
	all := int64(len(s.Files))
	return s.Files[all*t.Number/t.Of : all*(t.Number+1)/t.Of]
}

func (s *scanning) leave() error { return nil }
func (s *scanning) Close() error { return nil }

// publish joins the files, and stores the manifest. Files that no task has scanned are
// scanned, so that the result does not depend on tasks.
func (s *scanning) publish(ctx context.Context, w *Worker, whole bool) (r *Result, err error) {
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	exists, err := store.Exists(ctx, o.at, o.path.MustKey(own.ManifestDocument))
	if err != nil {
		return nil, err
	}
	if !whole && !exists {
		if err := w.checkDone(ctx); err != nil {
			return nil, s.fail(err)
		}
	}
	j, err := s.begin(ctx, o, exists)
	if err != nil {
		return nil, err
	}
	made := new(Manifest)
	o.Added = made.add
	if err := o.Collect(ctx, j, s.Files); err != nil {
		return nil, s.fail(err)
	}
	made.Notes, made.Summary = j.Notes(), j.Summary(alike)
	if made.Manifest, err = j.Finish(); err != nil {
		return nil, err
	}
	if exists && !s.Append {
		return s.again(made, o.Forget(store.Finishing(ctx)))
	}
	if n, _ := made.Padded(); n > 0 {
		if err := o.CopyPadded(ctx, made.Manifest, o.at, o.path); err != nil {
			return nil, err
		}
	}
	if s.Append {
		err = made.Update(ctx)
	} else {
		err = made.Create(ctx, o.at, o.path)
	}
	if err != nil {
		return nil, s.fail(err)
	}
	if err := o.Forget(store.Finishing(ctx)); err != nil {
		left := "scans of tasks may be left, which varve vacuum deletes: " + err.Error()
		made.Notes, made.Summary = append(made.Notes, left), append(made.Summary, left)
	}
	return &Result{Manifest: made}, nil
}

// alike is how many notes of one kind a summary has.
const alike = 3

// again returns the manifest that an earlier call has stored. It is an error if somebody
// else has stored one. err is the error of deleting what is left of scans.
func (s *scanning) again(made *Manifest, err error) (*Result, error) {
	if made.Files > 0 || made.Join.Concat != s.Concat || made.Join.Stack != s.Stack {
		return nil, fmt.Errorf("%s: there is another manifest: %w", *s.Target, fs.ErrExist)
	}
	return &Result{Manifest: made}, err
}

// add notes a file that was added.
func (m *Manifest) add(p *virtual.Part) {
	m.Files++
	if p.Kept {
		m.Kept++
	}
	for _, x := range p.Refused {
		m.Refused = append(m.Refused, RefusedPart{p.Name, x.Path, x.Err, x.Array, x.More})
	}
}
