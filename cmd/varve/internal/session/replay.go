// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/icechunk"
)

// A command that changes a repository of Icechunk works in a session, and commits when it
// has succeeded. If others have committed meanwhile, the session is rebased. If that is
// not possible, the whole command runs again in a session at the new tip: its positions
// and conditions are found anew, so the result is as if it had begun after them. What the
// first run has printed is dropped.

// held is what waits for the end of a command: changes of repositories of Icechunk, and
// its output, which must not tell of changes that were not published.
type held struct {
	staged   *icechunk.Staging
	document bytes.Buffer // for standard output
	notes    bytes.Buffer // for standard error
	input    *recording   // of standard input, nil if that is not replaced
	repeated int          // runs before this one
	printed  map[string]bool

	mu   sync.Mutex
	pipe string // a file that can be read only once
}

type heldKey struct{}

// heldOf returns what waits for the end of a command, or nil.
func heldOf(ctx context.Context) *held {
	h, _ := ctx.Value(heldKey{}).(*held)
	return h
}

// hold prepares the repositories that a command may change, and its streams.
func hold(cmd *cobra.Command, args []string) *held {
	h := &held{staged: &icechunk.Staging{Rehearsal: isDry(cmd)}, printed: map[string]bool{}}
	cmd.SetContext(context.WithValue(icechunk.WithStaging(cmd.Context(), h.staged), heldKey{}, h))
	if cmd.Flags().Lookup("dry-run") == nil {
		return h // it changes nothing
	}
	cmd.SetOut(waiting{h, cmd.OutOrStdout()})
	if in := cmd.InOrStdin(); len(args) > 0 && strings.Contains(args[0], "icechunk+") && !console.IsTerminal(in) {
		h.input = &recording{r: in}
		cmd.SetIn(&recorded{recording: h.input})
	}
	return h
}

// mostRepeats bounds the runs of a command that meets other commits again and again.
const mostRepeats = 20

// Attempt runs the work of a command. If it has succeeded, Attempt publishes what the
// command has changed in repositories of Icechunk, as one commit to each branch, and
// prints what waits for that.
func Attempt(cmd *cobra.Command, work func() error) error {
	h, ctx := heldOf(cmd.Context()), cmd.Context()
	if h == nil {
		return work()
	}
	for {
		err := work()
		if err != nil {
			return errors.Join(err, h.flush(cmd, nil))
		}
		fixed := h.fixed(cmd)
		// A command that runs again takes what it has read from the new tip.
		h.staged.Policy.Reads = fixed == ""
		commits, err := h.staged.Commit(ctx, messageOf(cmd))
		if err == nil {
			err = h.flush(cmd, commits)
		}
		h.tell(cmd, commits, err)
		because := reasonOf(err)
		switch {
		case because == "":
			return err
		case len(commits) > 0 || h.repeated == mostRepeats:
			return err
		case fixed != "":
			return fmt.Errorf("%w; nothing was changed, and the command is not repeated by itself: %s", err, fixed)
		}
		if err := h.restart(cmd, ctx, because); err != nil {
			return err
		}
	}
}

// reasonOf returns why a command that could not commit may begin again, or "".
func reasonOf(err error) string {
	var conflict *icechunk.ConflictError
	switch {
	case errors.As(err, &conflict):
		tip := conflict.Tip
		return fmt.Sprintf("after the commit %v of %s to the branch %s: %q", tip.ID, tip.Time.Format(time.RFC3339), conflict.Branch, tip.Message)
	case errors.Is(err, icechunk.ErrCollected):
		return "because garbage was collected meanwhile"
	}
	return ""
}

// restart prepares another run of a command, which begins at the new tip.
func (h *held) restart(cmd *cobra.Command, ctx context.Context, because string) error {
	h.staged.Reset()
	h.document.Reset()
	h.notes.Reset()
	h.repeated++
	if h.input != nil {
		cmd.SetIn(&recorded{recording: h.input})
	}
	cmd.SetContext(ctx)
	withRemarks(cmd)
	Remark(cmd, Subject(cmd), "the command begins again "+because)
	// Writers that meet again and again should not do so in step.
	t := time.NewTimer(time.Duration(rand.Int64N(int64(10*time.Millisecond) << min(h.repeated, 8))))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// repeatable are the commands whose second run has the effect of one that began later.
var repeatable = map[string]bool{
	"append": true, "write": true, "compact": true, "rechunk": true, "regularize": true, "drop": true,
	"unlock": true, "attrs": true,
}

// fixedReasons say why some other commands are not repeated.
var fixedReasons = map[string]string{
	"resize": "it names lengths, and others have changed what they were chosen for",
	"insert": "it names a position, and others may have moved what is there",
	"rm":     "it deletes what others have changed",
	"create": "others have changed what it would make or replace",
}

// fixed returns why a command cannot run again, or "".
func (h *held) fixed(cmd *cobra.Command) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.staged.Amend:
		return "--amend would replace that commit"
	case !repeatable[cmd.Name()]:
		return cmp.Or(fixedReasons[cmd.Name()], "look what has changed and repeat it")
	case h.pipe != "":
		return h.pipe + " is a pipe or a device, and can be read only once"
	case h.input != nil && !h.input.whole():
		return fmt.Sprintf("standard input has more than %s, and can be read only once: give a file", phrase.Bytes(mostRecorded))
	}
	return ""
}

// ReadOnce records that a command reads a file which gives its content only once, such as
// a named pipe. The command cannot run again then.
func ReadOnce(ctx context.Context, name string) {
	if h := heldOf(ctx); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.pipe = name
	}
}

// Commits reports whether the command has opened a branch of a repository of Icechunk for
// writing. Its document gets a member that names the commit.
func Commits(cmd *cobra.Command) bool {
	h := heldOf(cmd.Context())
	return h != nil && h.staged.Begun()
}

// Former returns the location of a node as it was when the command began, if it runs
// again because of the commits of others.
func Former(cmd *cobra.Command, location string) (string, bool) {
	if h := heldOf(cmd.Context()); h != nil && h.repeated > 0 {
		return h.staged.Former(location)
	}
	return "", false
}

// checkMessage returns an error for a message or metadata that no commit can have.
func checkMessage(cmd *cobra.Command, args []string) error {
	text, said := cmd.Flag(messageFlag), cmd.Flag(metadataFlag)
	switch {
	case text == nil || !text.Changed && !said.Changed && !cmd.Flag(amendFlag).Changed:
		return nil
	case text.Changed && strings.TrimSpace(text.Value.String()) == "":
		return failure.BadUsage("-m is the message of a commit, and this one is empty: leave it out for the name of the command")
	}
	if plan := cmd.Flags().Lookup("plan"); plan != nil && plan.Changed {
		return failure.BadUsage("--plan makes no commit: give -m, --metadata and --amend to varve run, which makes it")
	}
	if out := cmd.Flags().Lookup("output"); out != nil {
		args = append(slices.Clone(args), out.Value.String())
	}
	named := slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "icechunk+") })
	// An import names a repository by its folder, and a run by its plan.
	if parent := cmd.Parent(); cmd.Name() == "icechunk" || parent != nil && parent.Name() == "icechunk" {
		named = false // but for an import, they commit nothing to a branch
	}
	if named = named || cmd.Name() == "import" || cmd.Name() == "run"; named && cmd.Flags().Lookup("dry-run") != nil {
		return nil
	}
	return failure.BadUsage("-m, --metadata and --amend are of a commit to a repository of Icechunk, and this command makes none")
}

// messageOf returns the message for commits of a command.
func messageOf(cmd *cobra.Command) string {
	f := cmd.Flag(messageFlag)
	switch amends, err := cmd.Flags().GetBool(amendFlag); {
	case f != nil && f.Value.String() != "":
		return f.Value.String()
	case err == nil && amends:
		return "" // of the commit that is replaced
	}
	return "varve " + cmd.Name()
}

// metadataOf returns the metadata for commits of a command.
func metadataOf(cmd *cobra.Command) (map[string]any, error) {
	said, err := cmd.Flags().GetStringArray(metadataFlag)
	if err != nil || len(said) == 0 {
		return nil, nil // a command without the flag
	}
	m := map[string]any{}
	for _, text := range said {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || !utf8.ValidString(text) {
			return nil, failure.BadUsage("--metadata %q is no NAME=VALUE", text)
		}
		m[name] = value
	}
	return m, nil
}

// tell prints which commits were made, or that none was needed.
func (h *held) tell(cmd *cobra.Command, commits []icechunk.Committed, err error) {
	if WantsJSON(cmd) {
		return
	}
	w := cmd.ErrOrStderr()
	for _, c := range commits {
		instead := ""
		if h.staged.Amend {
			instead = ", in the place of the last commit"
		}
		fmt.Fprintf(w, "note: %s: committed %v to the branch %s%s\n", phrase.Printable(WithoutSecrets(c.Repository)), c.ID, phrase.Printable(c.Branch), instead)
	}
	// A session that was committed is none of the staging any more.
	switch {
	case err != nil || len(commits) > 0 || isDry(cmd):
	case h.staged.Begun():
		fmt.Fprintln(w, "note: nothing has changed in the repository, so no commit was made")
	case cmd.Flag(messageFlag) != nil && cmd.Flag(messageFlag).Changed:
		fmt.Fprintln(w, "note: no branch was changed, so no commit has the message of -m")
	}
}

// commitFacts are a commit in JSON.
type commitFacts struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Snapshot   string `json:"snapshot"`
}

// flush prints what waited. In JSON, the document of a command that began a session has
// its commit, or null; if several branches have changed, the last one and all of them.
func (h *held) flush(cmd *cobra.Command, commits []icechunk.Committed) error {
	_, _ = h.notes.WriteTo(cmd.ErrOrStderr()) // the change is done even if this fails
	out := cmd.OutOrStdout()
	if w, ok := out.(waiting); ok {
		out = w.w
	}
	text := h.document.Bytes()
	if WantsJSON(cmd) {
		var last any
		all := []commitFacts{}
		for _, c := range commits {
			all = append(all, commitFacts{WithoutSecrets(c.Repository), c.Branch, c.ID.String()})
			last = all[len(all)-1]
		}
		members := []output.Member{{Name: "commit", Value: last}}
		if len(all) > 1 {
			members = append(members, output.Member{Name: "commits", Value: all})
		}
		for _, m := range members {
			var err error
			if text, err = output.Extend(text, m); err != nil {
				return err
			}
		}
	}
	_, err := out.Write(text)
	return err
}

// sayLater prints a line to standard error. If the command has changed a repository, the
// line waits for the commit. A line that an earlier run has printed is not printed again.
func sayLater(cmd *cobra.Command, line string) {
	h := heldOf(cmd.Context())
	switch {
	case h == nil:
	case h.repeated > 0 && h.printed[line]:
		return
	case h.staged.Begun():
		h.notes.WriteString(line)
		return
	default:
		h.printed[line] = true
	}
	_, _ = io.WriteString(cmd.ErrOrStderr(), line) // the change is done even if this fails
}

// waiting is standard output. From the first change of a repository on, what is written
// waits for the commit.
type waiting struct {
	h *held
	w io.Writer
}

// IsTerminal reports whether the output is a terminal.
func (w waiting) IsTerminal() bool { return console.IsTerminal(w.w) }

// Write implements [io.Writer].
func (w waiting) Write(text []byte) (int, error) {
	if w.h.staged.Begun() {
		return w.h.document.Write(text)
	}
	return w.w.Write(text)
}

// mostRecorded bounds the bytes of standard input that are kept for another run.
const mostRecorded = 64 << 20

// recording keeps what was read of a stream. It is safe for concurrent use: a reader of
// the run before may still wait for bytes, which then belong to the next run.
type recording struct {
	r io.Reader

	mu   sync.Mutex
	kept []byte
	lost bool // there were too many
}

// whole reports whether everything was kept that was read.
func (r *recording) whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lost
}

// recorded reads a recording from its beginning, and then the stream.
type recorded struct {
	*recording
	at int
}

// Read implements [io.Reader].
func (r *recorded) Read(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lost && r.at < len(r.kept) {
		n = copy(p, r.kept[r.at:])
		r.at += n
		return n, nil
	}
	n, err = r.r.Read(p)
	switch {
	case r.lost:
	case len(r.kept)+n > mostRecorded:
		r.kept, r.lost = nil, true
	default:
		r.kept = append(r.kept, p[:n]...)
		r.at = len(r.kept)
	}
	return n, err
}
