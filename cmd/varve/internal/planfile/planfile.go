// SPDX-License-Identifier: Apache-2.0

// Package planfile writes and reads the files of --plan, which varve run executes.
package planfile

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
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// NewID returns an ID of a plan.
func NewID() string { return strings.ToLower(rand.Text()[:16]) }

// Store stores a plan in a file, or at a location.
func Store(cmd *cobra.Command, name string, plan any) error {
	raw, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if err := checkReplaced(cmd, name, raw); err != nil {
		return err
	}
	if name = strings.TrimPrefix(name, "file://"); IsStored(name) {
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
	if info, err := os.Stat(node.LocalPath(name)); !IsStored(strings.TrimPrefix(name, "file://")) && (err != nil || !info.Mode().IsRegular() || info.Size() == 0) {
		return nil // a pipe, or a file that a script has made for the plan
	}
	raw, err := Read(cmd, strings.TrimPrefix(name, "file://"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old, now struct {
		Version int           `json:"varve_plan"`
		Arrays  []dryrun.Head `json:"arrays"`
	}
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
		again := func(q dryrun.Head) bool { return q.Fingerprint == p.Fingerprint }
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
	at, err := place.Locate(cmd.Context(), location, store.ReadOnly)
	if err != nil {
		return false // there is no array
	}
	defer func() { _ = place.Close(at, true) }()
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

// IsStored reports whether a name of a file is a location such as s3://bucket/p.json.
func IsStored(name string) bool { return strings.Contains(name, "://") }

// Read reads a file or a location.
func Read(cmd *cobra.Command, name string) (raw []byte, err error) {
	if IsStored(name) {
		raw, err = job.ReadFile(cmd.Context(), name, job.MostBytes)
	} else {
		raw, err = localfile.ReadAll(cmd, name)
	}
	if err == nil && len(raw) > job.MostBytes {
		err = failure.BadArgument("%s has %s, and a plan at most %s", name, phrase.Bytes(int64(len(raw))), phrase.Bytes(job.MostBytes))
	}
	return raw, err
}

// Parse parses JSON, and refuses members that it does not know.
func Parse(name string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return failure.BadArgument("%s is no plan: %w", name, err)
	}
	return nil
}

// Shared is a plan file of copy, convert, check or virtualize: the plan that
// --dry-run --json prints, and what is wanted.
type Shared struct {
	Version int    `json:"varve_plan"`
	ID      string `json:"id"`
	dryrun.Head
	dryrun.Counts
	Request json.RawMessage `json:"request"`
}

// Write writes a plan to the file of --plan.
func Write(cmd *cobra.Command, name string, head dryrun.Head, counts dryrun.Counts, request any) (err error) {
	p := Shared{Version: job.Version, ID: NewID(), Head: head, Counts: counts}
	if p.Node = Location(cmd, p.Node); p.Target != nil {
		p.Target = new(Location(cmd, *p.Target))
	}
	if p.Request, err = json.Marshal(request); err != nil {
		return err
	}
	if p.Fingerprint, err = dryrun.Fingerprint(p.Request); err != nil {
		return err
	}
	return Store(cmd, name, p)
}

// Flag adds the flag of plans that varve run executes.
func Flag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "plan", "", "only write the plan to `FILE`, for varve run")
}
