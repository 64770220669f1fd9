// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/strictjson"
)

// planVersion is the version of the form of plan files.
const planVersion = 1

// planFile is a file that --plan writes and varve run executes. Which tasks there are
// follows from the requests, so it stays small for an array of any size.
type planFile struct {
	Version int `json:"varve_plan"`
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
	regridded
	Request json.RawMessage `json:"request"`
	Memory  int64           `json:"memory"`
	Source  regrid.State    `json:"source"`
	Inputs  *inputs         `json:"inputs,omitempty"`

	batch string // see [regrid.Options.Batch]
}

// newPlanned returns a plan as it is written to a file.
func newPlanned(d *regridded) (*planned, error) {
	raw, err := regrid.MarshalRequest(d.request)
	p := &planned{regridded: *d, Request: raw, Memory: d.plan.Memory, Source: d.plan.State, Inputs: d.inputs}
	p.Node, p.Path = absolute(p.Node), absolute(p.Path)
	if p.Target != nil {
		p.Target = new(absolute(*p.Target))
	}
	return p, err
}

// absolute returns a location that does not depend on the working directory.
func absolute(location string) string {
	if path, is := strings.CutPrefix(location, "file://"); is {
		return "file://" + absolute(path)
	}
	if strings.Contains(location, "://") || location == "" || location == "-" {
		return location
	}
	return filepath.ToSlash(node.LocalPath(location))
}

// writePlan writes plans to the file of --plan.
func (r *regridding) writePlan(cmd *cobra.Command, f planFile, list []*regridded) error {
	if r.planTo == "" {
		return nil
	}
	f.Version = planVersion
	for _, d := range list {
		p, err := newPlanned(d)
		if err != nil {
			return err
		}
		f.Arrays = append(f.Arrays, p)
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if isStored(r.planTo) {
		return writeStored(cmd.Context(), r.planTo, append(raw, '\n'))
	}
	return localfile.Replace(strings.TrimPrefix(r.planTo, "file://"), func(w *bufio.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	})
}

// mostPlan bounds a plan file, in bytes.
const mostPlan = 64 << 20

// readPlan reads a plan file.
func readPlan(cmd *cobra.Command, name string) (*planFile, error) {
	var raw []byte
	var err error
	if name = strings.TrimPrefix(name, "file://"); isStored(name) {
		raw, err = readStored(cmd.Context(), name, mostPlan)
	} else {
		raw, err = localfile.ReadAll(cmd, name)
	}
	if err != nil {
		return nil, err
	}
	if len(raw) > mostPlan {
		return nil, failure.BadArgument("%s has %s, and a plan at most %s", name, phrase.Bytes(int64(len(raw))), phrase.Bytes(mostPlan))
	}
	// A member that is given twice, or that nobody reads, means something else to its
	// author.
	if _, err := strictjson.Parse(raw, strictjson.Limits{Size: mostPlan}); err != nil {
		return nil, failure.BadArgument("%s is no plan: %w", name, err)
	}
	var version struct {
		Is int `json:"varve_plan"`
	}
	if err := json.Unmarshal(raw, &version); err != nil || version.Is != planVersion {
		return nil, failure.BadArgument("%s is no plan of this version of varve: varve_plan is %d, want %d", name, version.Is, planVersion)
	}
	f := new(planFile)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, failure.BadArgument("%s is no plan: %w", name, err)
	}
	if len(f.Arrays) == 0 {
		return nil, failure.BadArgument("%s: the plan has no arrays", name)
	}
	for i, p := range f.Arrays {
		if err := p.parse(f.Group); err != nil {
			return nil, failure.BadArgument("%s: /arrays/%d: %w", name, i, err)
		}
	}
	return f, nil
}

// member returns the name of the array in a group, or "" if it is in another place.
func (p *planned) member(group string) string {
	name, below := strings.CutPrefix(p.Node, node.Clean(group)+"/")
	if !below {
		return ""
	}
	return name
}

// parse checks a plan, and parses its request.
func (p *planned) parse(group string) (err error) {
	switch {
	case p == nil:
		return errors.New("there is no plan")
	case p.Node == "":
		return errors.New("there is no node")
	case group != "" && p.member(group) == "":
		return errors.New("the node is not in the group")
	case p.Memory < 0:
		return errors.New("memory is below 0")
	}
	if p.request, err = regrid.ParseRequest(p.Operation, p.Request); err != nil {
		return err
	}
	if _, is := p.request.(regrid.Insertion); is && (p.Inputs == nil || len(p.Inputs.Files) == 0) {
		return errors.New("an insertion needs inputs")
	}
	return nil
}

// stages returns the number of stages with tasks of the array that has most.
func (f *planFile) stages() (most int) {
	for _, p := range f.Arrays {
		most = max(most, p.stages())
	}
	return most
}

// stages returns the number of stages with tasks.
func (p *planned) stages() int {
	if !p.Changed {
		return 0
	}
	return len(p.Stages) - 1 // the last one publishes
}
