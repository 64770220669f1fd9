// SPDX-License-Identifier: Apache-2.0

// Package job executes plans whose tasks several processes share: array jobs of a
// scheduler, workers of an engine such as Apache Beam, or goroutines.
//
// A [Plan] is a file that the commands of varve write with --plan. It has stages, one
// after the other, whose tasks come in any order, and a last step that makes the result
// visible. A task may fail, be repeated, be executed twice at once, or be killed:
//
//	plan, err := job.Open(ctx, "s3://bucket/p.json")
//	if err != nil {
//		return err
//	}
//	w, err := job.NewWorker(plan, nil)
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	for stage := range plan.Stages() {
//		for k := range int64(100) {
//			if _, err := w.Do(ctx, job.Task{Stage: stage, Number: k, Of: 100}); err != nil {
//				return err
//			}
//		}
//	}
//	_, err = w.Publish(ctx)
//
// Instead of a scheduler, workers can divide the tasks among themselves ([Worker.Take]).
//
// # State
//
// There is no coordinator. What is done shows in the store of the result, so tasks that
// are executed again find it. Beside the plan is a folder with a record of each task that
// was done, the claims of [Worker.Take], and what tasks have found that make no new node:
// faults, checksums. [Worker.Forget] deletes it.
package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// Version is the version of the form of plans.
const Version = 1

// MostBytes bounds the bytes of a plan.
const MostBytes = 64 << 20

// Plan is work that several processes execute together.
type Plan struct {
	// Location is where the plan was read, or "".
	Location string `json:"-"`
	// ID tells plans apart that are written to the same place. If a plan has none, it is
	// a digest of it.
	ID string `json:"id"`
	// Group is the location of the group whose arrays one transaction changes, or "".
	// Such a plan has no tasks that can be shared. Alone is set if the arrays may then
	// differ in length from others of the group.
	Group string `json:"group"`
	Alone bool   `json:"alone"`
	// Arrays are the rechunks of single arrays. A plan for something else has none,
	// and is itself the work.
	Arrays []*Work `json:"arrays"`
	Work
}

// Work is what is to be done with one node.
type Work struct {
	// Operation is the name of the command: "compact", "copy", "check" and so on.
	Operation string `json:"operation"`
	// Node is the location of the node, and Target that of what is made, or nil. Both are
	// absolute.
	Node   string  `json:"node"`
	Target *string `json:"target"`
	// Stages are those of the work. The last one publishes, and has no tasks.
	Stages []Stage `json:"stages"`
	// Request says what is wanted: a [rechunk.Request] in its JSON, a [Copy], a
	// [Conversion], a [Check] or a [Scan].
	Request json.RawMessage `json:"request"`

	// Changed is false if an array has the wanted grid already.
	Changed bool `json:"changed"`
	// Memory is that of [rechunk.Options].
	Memory int64 `json:"memory"`
	// Fingerprint and Source say what a rechunk was planned from.
	Fingerprint string        `json:"fingerprint"`
	Source      rechunk.State `json:"source"`
	// Inputs are the files of an insertion, as the command writes them.
	Inputs json.RawMessage `json:"inputs"`
}

// Stage is a stage of a plan.
type Stage struct {
	Name string `json:"name"`
	// Tasks is the number of the smallest tasks: blocks of elements, values or files.
	// Processes execute parts of them.
	Tasks int64 `json:"tasks"`
}

// ErrPlan means that something is no plan, or one that this version cannot execute.
var ErrPlan = errors.New("no plan that can be executed")

// Open reads a plan from a file or a location such as s3://bucket/p.json. If it is no
// plan, the error wraps [ErrPlan].
func Open(ctx context.Context, location string) (*Plan, error) {
	raw, err := ReadFile(ctx, location, MostBytes)
	if err != nil {
		return nil, err
	}
	p, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	p.Location = location
	return p, nil
}

// Parse parses a plan. Members that only describe it are ignored.
func Parse(raw []byte) (*Plan, error) {
	if _, err := strictjson.Parse(raw, strictjson.Limits{Size: MostBytes}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	var d struct {
		Version int `json:"varve_plan"`
		*Plan
	}
	d.Plan = new(Plan)
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	p := d.Plan
	if d.Version != Version {
		return nil, fmt.Errorf("%w: varve_plan is %d, want %d", ErrPlan, d.Version, Version)
	}
	if p.ID == "" {
		sum := sha256.Sum256(raw)
		p.ID = hex.EncodeToString(sum[:8])
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

// check returns an error unless the plan has what executing it needs.
func (p *Plan) check() error {
	if p.ID == "." || p.ID == ".." || path.Base(p.ID) != p.ID || len(p.ID) > 64 || strings.ContainsAny(p.ID, "\\\x00?*:") {
		return fmt.Errorf("id %q cannot be the name of a folder", p.ID)
	}
	switch {
	case len(p.Arrays) > 0 && p.Operation != "":
		return errors.New("it has both an operation and arrays")
	case len(p.Arrays) == 0 && p.Operation == "":
		return errors.New("it has no arrays")
	}
	for i, a := range p.works() {
		if a == nil {
			return fmt.Errorf("/arrays/%d: there is no plan", i)
		}
		if a.Node == "" && p.Operation != "virtualize" { // its files are in the request
			return fmt.Errorf("/arrays/%d: there is no node", i)
		}
		if a.Memory < 0 {
			return fmt.Errorf("/arrays/%d: memory is below 0", i)
		}
	}
	if _, err := p.newOperation(); err != nil {
		return err
	}
	return nil
}

// decode decodes the request. Members that this version does not know are errors: one may
// forbid what the others ask for.
func (w *Work) decode(to any) error {
	d := json.NewDecoder(bytes.NewReader(w.Request))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("the request (a newer version may have made it): %w", err)
	}
	return nil
}

// works returns what is to be done.
func (p *Plan) works() []*Work {
	if len(p.Arrays) > 0 {
		return p.Arrays
	}
	return []*Work{&p.Work}
}

// newOperation returns what executes the plan.
func (p *Plan) newOperation() (operation, error) {
	if len(p.Arrays) > 0 {
		return newRechunking(p)
	}
	switch p.Operation {
	case "copy":
		return newCopying(&p.Work)
	case "convert":
		return newConverting(&p.Work)
	case "check":
		return newChecking(&p.Work)
	case "virtualize":
		return newScanning(&p.Work)
	}
	return nil, fmt.Errorf("the operation %q is not known", p.Operation)
}

// Stages returns the number of stages with tasks.
func (p *Plan) Stages() (most int) {
	for _, w := range p.works() {
		most = max(most, w.stages())
	}
	return most
}

// stages returns the number of stages with tasks.
func (w *Work) stages() int {
	if len(w.Stages) == 0 {
		return 0
	}
	return len(w.Stages) - 1 // the last one publishes
}

// Tasks returns the number of the smallest tasks of a stage: more parts than that are
// empty.
func (p *Plan) Tasks(stage int) (all int64) {
	for _, w := range p.works() {
		if stage < w.stages() {
			all += w.Stages[stage].Tasks
		}
	}
	return all
}

// PeakMemory returns the most bytes that tasks hold, or 0 if the plan does not say.
func (p *Plan) PeakMemory() (most int64) {
	for _, w := range p.works() {
		most = max(most, w.Memory)
	}
	return most
}

// Task is a part of the tasks of a stage.
type Task struct {
	// Stage counts from 0.
	Stage int `json:"stage"`
	// Number and Of say which of how many equal parts of the tasks, from 0 on.
	Number int64 `json:"task"`
	Of     int64 `json:"of"`
}

// String returns the task as the command line names it, such as "stage 0, task 17/400".
func (t Task) String() string { return fmt.Sprintf("stage %d, task %d/%d", t.Stage, t.Number, t.Of) }

// check returns an error unless the task is one of a plan with so many stages.
func (t Task) check(stages int) error {
	switch {
	case t.Stage < 0 || t.Stage >= stages:
		return fmt.Errorf("%w: there is no stage %d: the plan has %d, which count from 0", zarr.ErrInvalidArgument, t.Stage, stages)
	case t.Of < 1 || t.Number < 0 || t.Number >= t.Of:
		return fmt.Errorf("%w: task %d of %d, which count from 0", zarr.ErrInvalidArgument, t.Number, t.Of)
	case t.Of > MostTasks:
		return fmt.Errorf("%w: %s, at most %d are possible", zarr.ErrInvalidArgument, quantity.Count(t.Of, "tasks"), int64(MostTasks))
	}
	return nil
}

// MostTasks bounds [Task.Of].
const MostTasks = 1 << 30

// openFile opens the store of a file at a location, and returns its key.
func openFile(ctx context.Context, location string, access store.Access) (store.Store, store.Key, error) {
	location, path, query := split(location)
	s, dir, err := store.OpenLocation(ctx, location+query, access)
	if err != nil {
		return nil, store.Key{}, err
	}
	path2, err := dir.Join(path)
	var key store.Key
	if err == nil {
		key, err = store.ParseKey(path2.String())
	}
	if err != nil {
		return nil, key, errors.Join(err, store.Close(s))
	}
	return s, key, nil
}

// split splits a location into its folder, the name of the file, and the options that a
// location of an object store may end with.
func split(location string) (folder, name, query string) {
	at := location
	if strings.Contains(location, "://") {
		if i := strings.IndexByte(location, '?'); i >= 0 {
			at, query = location[:i], location[i:]
		}
	} else {
		at = filepath.ToSlash(location)
	}
	slash := strings.LastIndexByte(at, '/') + 1
	if folder = at[:slash]; folder == "" {
		folder = "."
	}
	return folder, at[slash:], query
}

// ReadFile reads a file at a path or at a location such as s3://bucket/p.json. If it has
// more than most bytes, the error wraps [store.ErrTooLarge].
func ReadFile(ctx context.Context, location string, most int64) ([]byte, error) {
	s, key, err := openFile(ctx, location, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	data, _, err := s.Get(ctx, key, store.Request{Limit: most}, nil)
	return data, errors.Join(err, store.Close(s))
}

// WriteFile stores a file at a path or at a location such as s3://bucket/p.json. Readers
// see the old file or the new one.
func WriteFile(ctx context.Context, location string, data []byte) error {
	s, key, err := openFile(ctx, location, store.Create)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, s, store.Put(key, data), store.Sync)
	return errors.Join(err, store.Close(s))
}
