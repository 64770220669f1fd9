// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// planFile is a file that --plan writes and varve run executes. Which tasks there are
// follows from the requests, so it stays small for an array of any size.
type planFile struct {
	Version int `json:"varve_plan"`
	// ID tells it from other plans that were written to the same place.
	ID string `json:"id,omitempty"`
	// Group is the location of the group whose arrays one transaction changes, or "" if
	// each array is changed for itself. Alone is set if the arrays may then differ in
	// length from others of the group.
	Group  string     `json:"group,omitempty"`
	Alone  bool       `json:"alone,omitempty"`
	Arrays []*planned `json:"arrays"`
}

// planned is the plan for one array. Locations are absolute, so that it can be executed
// from any folder.
type planned struct {
	rechunked
	Request json.RawMessage `json:"request"`
	Memory  int64           `json:"memory"`
	Source  rechunk.State   `json:"source"`
	Inputs  *inputs         `json:"inputs,omitempty"`
}

// newPlanned returns a plan as it is written to a file.
func newPlanned(cmd *cobra.Command, d *rechunked) (*planned, error) {
	raw, err := json.Marshal(d.request)
	p := &planned{rechunked: *d, Request: raw, Memory: d.plan.Memory, Source: d.plan.State, Inputs: d.inputs}
	p.Node, p.Path = planLocation(cmd, p.Node), absolute(p.Path)
	if p.Target != nil {
		p.Target = new(planLocation(cmd, *p.Target))
	}
	return p, err
}

// writePlan writes plans to the file of --plan.
func (r *gridChange) writePlan(cmd *cobra.Command, f planFile, list []*rechunked) error {
	if r.planTo == "" {
		return nil
	}
	for _, d := range list {
		p, err := newPlanned(cmd, d)
		if err != nil {
			return err
		}
		f.Arrays = append(f.Arrays, p)
	}
	f.Version, f.ID = job.Version, newPlanID()
	return storePlan(cmd, r.planTo, f)
}

// newPlanID returns an ID of a plan.
func newPlanID() string { return strings.ToLower(rand.Text()[:16]) }

// storePlan stores a plan in a file, or at a location.
func storePlan(cmd *cobra.Command, name string, plan any) error {
	raw, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if err := checkReplaced(cmd, name, raw); err != nil {
		return err
	}
	if name = strings.TrimPrefix(name, "file://"); isStored(name) {
		err = job.WriteFile(cmd.Context(), name, raw)
	} else {
		err = localfile.Replace(name, func(w *bufio.Writer) error {
			_, err := w.Write(raw)
			return err
		})
	}
	if err == nil {
		word := phrase.Word(name)
		session.Confirm(cmd, "wrote the plan: varve run %s --take, on any number of machines, and then varve run %s --publish", word, word)
	}
	return err
}

// checkReplaced refuses to write a plan over a file that is none, or over the plan of a
// rechunk that has begun: no other plan can finish that, and it would block this one. A
// plan of the same request may be made again.
func checkReplaced(cmd *cobra.Command, name string, plan []byte) error {
	if info, err := os.Stat(node.LocalPath(name)); !isStored(strings.TrimPrefix(name, "file://")) && (err != nil || !info.Mode().IsRegular() || info.Size() == 0) {
		return nil // a pipe, or a file that a script has made for the plan
	}
	raw, err := readPlanFile(cmd, strings.TrimPrefix(name, "file://"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old, now planFile
	if json.Unmarshal(raw, &old) != nil || old.Version == 0 {
		return failure.BadArgument("%s is a file, and no plan: choose another name for the plan", name)
	}
	if err := json.Unmarshal(plan, &now); err != nil {
		return err
	}
	for _, p := range old.Arrays {
		place := p.Node
		if p.Target != nil {
			place = *p.Target
		}
		again := func(q *planned) bool { return q.Fingerprint == p.Fingerprint }
		if slices.ContainsFunc(now.Arrays, again) || !hasBegun(cmd, place, p.Fingerprint) {
			continue
		}
		end := "varve vacuum " + phrase.Word(place) + " --give-up"
		if p.Target != nil {
			end = "varve rm " + phrase.Word(place)
		}
		return failure.BadArgument("%s is the plan of a %s of %s that has begun: finish it (varve run %s), give it up (%s), or choose another name for the plan",
			name, p.Operation, p.Node, phrase.Word(name), end)
	}
	return nil
}

// hasBegun reports whether an array has the claim of a rechunk.
func hasBegun(cmd *cobra.Command, location, fingerprint string) bool {
	at, err := locate(cmd.Context(), location, store.ReadOnly)
	if err != nil {
		return false // there is no array
	}
	defer func() { _ = closeStore(at, true) }()
	n, err := at.Core()
	if err != nil {
		return false
	}
	raw, _, err := n.Store.Get(cmd.Context(), n.Path.MustKey(own.Dir+"/regrid.json"), store.Request{Limit: job.MostBytes}, nil)
	var claim struct {
		Fingerprint string `json:"fingerprint"`
	}
	return err == nil && json.Unmarshal(raw, &claim) == nil && claim.Fingerprint == fingerprint
}

// isStored reports whether a name of a file is a location such as s3://bucket/p.json.
func isStored(name string) bool { return strings.Contains(name, "://") }

// readPlan reads a plan. The second result is nil unless it is one of rechunks.
func readPlan(cmd *cobra.Command, name string) (*job.Plan, *planFile, error) {
	raw, err := readPlanFile(cmd, name)
	if err != nil {
		return nil, nil, err
	}
	var kind struct {
		Version   int    `json:"varve_plan"`
		Operation string `json:"operation"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, nil, failure.BadArgument("%s is no plan: %w", name, err)
	}
	// A member that nobody reads means something else to its author.
	f := new(planFile)
	switch {
	case kind.Version != job.Version:
		err = failure.BadArgument("%s is no plan of this version of varve: varve_plan is %d, want %d", name, kind.Version, job.Version)
	case kind.Operation == "":
		err = parseStrictly(name, raw, f)
	default:
		err, f = parseStrictly(name, raw, new(sharedPlan)), nil
	}
	if err != nil {
		return nil, nil, err
	}
	plan, err := job.Parse(raw)
	if err != nil {
		return nil, nil, failure.BadArgument("%s: %w", name, err)
	}
	if name != "-" {
		plan.Location = name
	}
	return plan, f, f.complete(name)
}

// complete checks what the command needs of a plan of rechunks, and parses the
// requests.
func (f *planFile) complete(name string) error {
	if f == nil {
		return nil
	}
	for i, p := range f.Arrays {
		if err := p.parse(f.Group); err != nil {
			return failure.BadArgument("%s: /arrays/%d: %w", name, i, err)
		}
	}
	return nil
}

// readPlanFile reads a file or a location.
func readPlanFile(cmd *cobra.Command, name string) (raw []byte, err error) {
	if isStored(name) {
		raw, err = job.ReadFile(cmd.Context(), name, job.MostBytes)
	} else {
		raw, err = localfile.ReadAll(cmd, name)
	}
	if err == nil && len(raw) > job.MostBytes {
		err = failure.BadArgument("%s has %s, and a plan at most %s", name, phrase.Bytes(int64(len(raw))), phrase.Bytes(job.MostBytes))
	}
	return raw, err
}

// parseStrictly parses JSON, and refuses members that it does not know.
func parseStrictly(name string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return failure.BadArgument("%s is no plan: %w", name, err)
	}
	return nil
}

// member returns the name of the array in a group, or "" if it is in another place.
func (p *planned) member(group string) string {
	name, below := strings.CutPrefix(withoutOptions(p.Node), node.Clean(withoutOptions(group))+"/")
	if !below {
		return ""
	}
	return name
}

// parse checks what [job.Parse] has not, and parses the request.
func (p *planned) parse(group string) (err error) {
	if group != "" && p.member(group) == "" {
		return errors.New("the node is not in the group")
	}
	if p.request, err = rechunk.ParseRequest(p.Operation, p.Request); err != nil {
		return err
	}
	if _, is := p.request.(rechunk.Insertion); is && (p.Inputs == nil || len(p.Inputs.Files) == 0) {
		return errors.New("an insertion needs inputs")
	}
	return nil
}
