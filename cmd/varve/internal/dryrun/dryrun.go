// SPDX-License-Identifier: Apache-2.0

// Package dryrun runs a command without changing a store, and prints the plan: what the
// command would write, delete and read.
package dryrun

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/observe"
)

// With adds the flag --dry-run to a command that changes a store.
func With(c *cobra.Command) *cobra.Command {
	on := c.Flags().Bool("dry-run", false, "change nothing, and print what would change")
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *on {
			return rehearse(cmd, args, work)
		}
		return work(cmd, args)
	}
	return c
}

// rehearse runs a command as a dry run and prints the plan.
func rehearse(cmd *cobra.Command, args []string, work func(*cobra.Command, []string) error) error {
	outer, out := cmd.Context(), cmd.OutOrStdout()
	ctx, d := session.Rehearse(outer)
	ctx, parts := withParts(ctx)
	cmd.SetContext(ctx)
	var said bytes.Buffer
	// Keep the output of the command. With --json it becomes a member of the plan,
	// otherwise it is printed before the counts.
	cmd.SetOut(&said)
	err := work(cmd, args)
	cmd.SetOut(out)
	cmd.SetContext(outer)
	if err != nil {
		return err
	}
	p := planOf(cmd, d, *parts)
	if !session.WantsJSON(cmd) {
		return p.print(cmd, said.String())
	}
	if text := bytes.TrimSpace(said.Bytes()); json.Valid(text) {
		p.Result = text
	}
	return session.PrintJSON(cmd, p)
}

// planFacts is the plan of a command in JSON. Members that --stats also has mean the
// same.
type planFacts struct {
	Head

	DryRun bool `json:"dry_run"`
	Counts
	Result json.RawMessage `json:"result,omitempty"` // what the command would print

	documentsGone int64
}

// Head is the beginning of the plans of all commands.
type Head struct {
	Operation string  `json:"operation"`
	Node      string  `json:"node"`
	Target    *string `json:"target"`
	Strategy  string  `json:"strategy"`
	Guarantee string  `json:"guarantee"`
	Stages    []Stage `json:"stages"`
	// Fingerprint is the hash of the changes, or of the plan; see [Fingerprint].
	Fingerprint string `json:"fingerprint"`
}

// Stage is one step of a change and the number of values that it touches.
type Stage struct {
	Name  string `json:"name"`
	Tasks int64  `json:"tasks"`
}

// Guarantee returns what readers see while a command runs or after a crash: the state
// before it or after it ("atomic") unless a case below says otherwise.
func Guarantee(cmd *cobra.Command) string {
	given := func(name, value string) bool {
		f := cmd.Flags().Lookup(name)
		return f != nil && f.Value.String() == value
	}
	switch {
	case given("overwrite", "true"):
		return "offline" // between deleting and creating there is no node
	case cmd.Name() == "write", given("trim", "true"), given("shrink", "trim-exact"):
		return "loud-failure" // a chunk is old, new, or cannot be decoded with the other document
	}
	return "atomic"
}

// Strategy returns the order in which a command changes a store.
func Strategy(cmd *cobra.Command) string {
	switch cmd.Name() {
	case "write":
		return "in-place"
	case "rm":
		return "documents-first"
	}
	return "stage-publish-reclaim"
}

// planOf returns the plan of a dry run, with the parts that were not rehearsed.
func planOf(cmd *cobra.Command, d *session.Rehearsal, parts []Part) *planFacts {
	s, unread := d.Counter.Stats(), d.Ledger.Unread()
	p := &planFacts{
		Head: Head{Operation: cmd.Name(), Node: session.Subject(cmd), Strategy: Strategy(cmd), Guarantee: Guarantee(cmd)}, DryRun: true,
		Counts: Counts{
			New: new(int64), Rewritten: new(int64), Copied: new(int64), Dropped: new(int64), Documents: new(int64),
			BytesRead:    new(s.Read.Bytes + unread.Stored),
			BytesDecoded: new(s.Of(observe.Decode).Bytes + unread.Coded),
			BytesEncoded: new(s.Of(observe.Encode).Bytes + unread.Coded),
			BytesCopied:  new(s.Copied.Bytes),
			BytesWritten: new(s.Written.Bytes + unread.Stored),
			BytesDropped: new(int64),
			Removed:      d.Removed,
			Requests:     map[string]int64{},
		},
	}
	for o := range observe.Commit + 1 {
		if n := s.Of(o).Times; n > 0 {
			p.Requests[o.String()] = n
		}
	}
	// The rehearsal does not read large chunks. Count the requests that the command would
	// make for them.
	if unread.Values > 0 {
		p.Requests[observe.Get.String()] += unread.Values
		p.Requests[observe.PutIf.String()] += unread.Values // on the condition that the value is unchanged
	}
	// The fingerprint covers every key with its sizes before and after.
	h := sha256.New()
	for _, c := range d.Ledger.Changes() {
		fmt.Fprintf(h, "%s %d %d\n", c.Key, c.Was, c.Is)
		p.add(c)
	}
	for _, part := range parts {
		p.include(part, h)
	}
	p.Fingerprint = hex.EncodeToString(h.Sum(nil)[:16])
	p.Stages = Stages(Stage{"write", *p.New + *p.Rewritten + *p.Copied + p.Linked}, Stage{"publish", *p.Documents}, Stage{"delete", *p.Dropped})
	return p
}

// Stages returns the stages that have tasks.
func Stages(all ...Stage) []Stage {
	return slices.DeleteFunc(all, func(s Stage) bool { return s.Tasks == 0 })
}

// add counts the change of one value.
func (p *planFacts) add(c rehearsal.Change) {
	if c.Is < 0 {
		*p.BytesDropped += c.Was
	}
	switch {
	case c.Is >= 0 && !c.IsChunk():
		*p.Documents++
	case c.IsDocument():
		p.documentsGone++
	// Deleting other objects, such as a journal, is not reported.
	case !c.IsChunk():
	case c.Is < 0:
		*p.Dropped++
	case c.Was < 0:
		*p.New++
	default:
		*p.Rewritten++
	}
}

// print writes the plan for people, below the output of the command.
func (p *planFacts) print(cmd *cobra.Command, said string) error {
	var b strings.Builder
	b.WriteString("dry run, nothing was changed\n")
	b.WriteString(said)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-13s %s\n", what, fmt.Sprintf(format, args...))
	}
	if len(p.Removed) > 0 {
		line("would remove", "%s", RemovedText(p.Removed))
	}
	if *p.New+*p.Rewritten+*p.Copied+p.Linked+*p.Documents == 0 && *p.BytesWritten > 0 {
		line("would write", "nothing permanent") // only temporary objects, such as journals
	} else {
		copied := ""
		if n := *p.Copied + p.Linked; n > 0 {
			copied = phrase.Count(n) + " linked or copied, "
		}
		line("would write", "%s, %s again, %s%s: %s", phrase.Plural(*p.New, "new chunk"), phrase.Plural(*p.Rewritten, "chunk"),
			copied, phrase.Plural(*p.Documents, "document"), phrase.Bytes(*p.BytesWritten))
	}
	what := phrase.Plural(*p.Dropped, "chunk")
	if p.documentsGone > 0 {
		what += ", " + phrase.Plural(p.documentsGone, "document")
	}
	line("would delete", "%s: %s", what, phrase.Bytes(*p.BytesDropped))
	line("would read", "%s", phrase.Bytes(*p.BytesRead))
	line("readers see", "%s", map[string]string{
		"atomic": "the state before or the state after", "loud-failure": "each chunk as it was or as it will be, or an error",
		"offline": "nothing, for a moment",
	}[p.Guarantee])
	_, err := cmd.OutOrStdout().Write([]byte(b.String()))
	return err
}

// Counts are the counts of every plan. A count is nil, and null in JSON, if the
// command does not know it before it runs.
type Counts struct {
	Kept      *int64 `json:"chunks_kept"`
	New       *int64 `json:"chunks_new"`
	Rewritten *int64 `json:"chunks_rewritten"`
	Copied    *int64 `json:"chunks_copied"`
	Linked    int64  `json:"chunks_linked"` // by rechunking
	Dropped   *int64 `json:"chunks_dropped"`
	Documents *int64 `json:"documents_written"`

	BytesRead    *int64 `json:"bytes_read"`
	BytesCopied  *int64 `json:"bytes_copied"`
	BytesLinked  int64  `json:"bytes_linked"`
	BytesDecoded *int64 `json:"bytes_decoded"`
	BytesEncoded *int64 `json:"bytes_encoded"`
	BytesWritten *int64 `json:"bytes_written_estimate"`
	BytesDropped *int64 `json:"bytes_dropped"`

	Removed []string `json:"nodes_removed,omitempty"` // deleted by rm or --overwrite

	Requests   map[string]int64 `json:"requests"`
	PeakMemory *int64           `json:"peak_memory"` // no command estimates it
	Scratch    *int64           `json:"scratch"`
}

// Fingerprint returns a hash of a plan that does not list changes of single values. Equal
// plans have equal fingerprints.
func Fingerprint(plan any) (string, error) {
	text, err := json.Marshal(plan)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// Part is the plan of a part of a command that is not rehearsed, such as a rechunk
// after an append.
type Part struct {
	Head
	Counts
}

// partsKey is the key of the parts in the context of a command.
type partsKey struct{}

// withParts returns a context that collects the parts of a dry run.
func withParts(ctx context.Context) (context.Context, *[]Part) {
	list := new([]Part)
	return context.WithValue(ctx, partsKey{}, list), list
}

// Also sets the parts of a dry run that are planned and not rehearsed. It replaces those
// of an earlier attempt. Without a dry run it does nothing.
func Also(cmd *cobra.Command, parts ...Part) {
	if list, ok := cmd.Context().Value(partsKey{}).(*[]Part); ok {
		*list = parts
	}
}

// include adds the counts of a part to the plan. h gets its fingerprint.
func (p *planFacts) include(part Part, h io.Writer) {
	fmt.Fprintf(h, "%s %s\n", part.Operation, part.Fingerprint)
	c := part.Counts
	for _, sum := range []struct{ all, more *int64 }{
		{p.New, c.New}, {p.Rewritten, c.Rewritten}, {p.Copied, c.Copied}, {p.Dropped, c.Dropped}, {p.Documents, c.Documents},
		{p.BytesRead, c.BytesRead}, {p.BytesCopied, c.BytesCopied}, {p.BytesDecoded, c.BytesDecoded}, {p.BytesEncoded, c.BytesEncoded},
		{p.BytesWritten, c.BytesWritten}, {p.BytesDropped, c.BytesDropped},
	} {
		if sum.more != nil {
			*sum.all += *sum.more
		}
	}
	p.Linked, p.BytesLinked = p.Linked+c.Linked, p.BytesLinked+c.BytesLinked
	for name, n := range c.Requests {
		p.Requests[name] += n
	}
	// Parts run one after another, so the largest counts.
	if c.PeakMemory != nil && (p.PeakMemory == nil || *c.PeakMemory > *p.PeakMemory) {
		p.PeakMemory = c.PeakMemory
	}
}

// mostRemoved bounds the removed nodes that a plan names.
const mostRemoved = 10

// RemovedText names the first of the nodes that a command would remove, and counts the
// rest. The paths are relative to the location of the command, whose own one is "".
func RemovedText(nodes []string) string {
	shown := slices.Clone(nodes[:min(len(nodes), mostRemoved)])
	for i, name := range shown {
		shown[i] = cmp.Or(name, "/")
	}
	text := fmt.Sprintf("%s: %s", phrase.Plural(int64(len(nodes)), "node"), phrase.Printable(strings.Join(shown, ", ")))
	if more := len(nodes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %s more", phrase.Count(int64(more)))
	}
	return text
}

// WouldRemove records for a dry run that the command removes the node at a location.
func WouldRemove(cmd *cobra.Command, location string) {
	if d := session.RehearsalOf(cmd.Context()); d != nil {
		d.Removed = node.Below(cmd.Context(), location)
	}
}
