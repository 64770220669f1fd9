// SPDX-License-Identifier: Apache-2.0

// Package session holds the state of one run of the command: the flags that all
// commands share, and the options and output derived from them.
//
// [Reading] and [Writing] return the options for nodes. [WantsJSON], [PrintJSON], [Note]
// and [Confirm] choose between text for people and JSON for programs. The context of the
// command holds the counter of --stats and the ledger of --dry-run.
package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Flags defines the flags that all commands share.
func Flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.Bool("json", false, "print one JSON document instead of text; that of a failure goes to standard error")
	f.Var(new(experimentWords), ExperimentalFlag,
		"permit proposed extensions of Zarr: `WHAT` is encoded-shapes (chunks that are stored longer than their edges), "+
			"inner-chunks (inner chunks that end with their shard or have different lengths), or both, separated by a comma")
	f.Var(new(statuses), missingFlag, "treat these `STATUS` codes of a web server, separated by commas, as not found, like 404; 403 is common")
	f.Bool(lanFlag, false, "follow redirections of a web server to addresses of private networks and of this machine")
	flagtext.Duration(f, new(time.Duration), serverFlag, 0, "give up if a web server sends less than 1 KiB per second for `DURATION`; 0 waits for ever (default: 30s)")
	f.Bool(hedgeFlag, false, "repeat a read of a remote store that takes longer than most, and take the first answer; at most 5 % are repeated")
	f.StringArray(allowFlag, nil, "let the references of a manifest lead to files at or below `PREFIX`, a folder or a URL; may be repeated")
	flagtext.Duration(f, new(time.Duration), lockFlag, 0, "wait at most `DURATION`, such as 30s, for a lock of another writer; 0 does not wait (default: no limit)")
	f.Var(new(sizeValue), LimitFlag, "hold chunks and blocks of at most `SIZE` in memory, such as 4GiB, and create no larger ones (default for chunks: 1 GiB)")
	flagtext.Var(f, new(string), absentFlag, absentFill,
		"read a chunk that is not stored as `WHAT`: as the fill value ("+absentFill+"), or as an "+absentError, flagtext.OneOf(absentFill, absentError))
	f.String(cacheFlag, "", "keep what is read from remote stores in the folder `DIR`, which commands and programs may share; it is used only for the version that the store has")
	f.Var(new(sizeValue), cacheSizeFlag, "keep at most `SIZE` in the folder of --cache (default: 8 GiB)")
	flagtext.Duration(f, new(time.Duration), cacheAgeFlag, 0, "use cached chunks for `DURATION` without asking the store for their versions; metadata is always current (default: 0)")
	f.StringP(messageFlag, "m", "", "the message of the commit to a repository of Icechunk is `TEXT` (default: the name of the command)")
	f.StringArray(metadataFlag, nil, "say `NAME=VALUE` of that commit, such as author=ada, which the log shows; may be repeated")
	f.Bool(amendFlag, false, "let that commit take the place of the last one of the branch, with the changes of both; without -m and --metadata it says what that said")
	flagtext.Propose(root, ExperimentalFlag, ExperimentNames()...)
	flagtext.Propose(root, absentFlag, absentFill, absentError)
	flagtext.Propose(root, missingFlag, "403")
}

// Begin prepares a command before it runs: it sets up locks, web servers, the cache,
// remarks and the counter in the context. It returns the arguments without secrets. The
// caller calls end when the command has ended.
func Begin(cmd *cobra.Command, args []string) (shown []string, end func(), err error) {
	args = remoteArguments(cmd, args)
	awaitLocks(cmd)
	Watch(cmd)
	withRemarks(cmd)
	h := hold(cmd, args)
	h.staged.Amend, _ = cmd.Flags().GetBool(amendFlag) // or the command has no such flag
	if h.staged.Metadata, err = metadataOf(cmd); err == nil {
		err = checkMessage(cmd, args)
	}
	if err == nil {
		err = openCache(cmd)
	}
	return args, func() {
		closeCache(cmd.Context())
		_ = h.staged.Close() // what is worth anything is committed
	}, err
}

// isDry reports whether a command has the flag of a dry run. [IsDryRun] is true only for
// those that have a ledger, and only while they run.
func isDry(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("dry-run")
	return err == nil && on
}

// Try calls do, which opens locations for reading and changes them in a ledger, as a dry
// run does. A repository of Icechunk takes such changes in a session that is not
// committed.
func Try(cmd *cobra.Command, do func() error) error {
	trial, ctx := &icechunk.Staging{Rehearsal: true}, cmd.Context()
	cmd.SetContext(icechunk.WithStaging(ctx, trial))
	defer cmd.SetContext(ctx)
	err := do()
	_ = trial.Close() // it was only read
	return err
}

// The flags of commits.
const (
	messageFlag  = "message"
	metadataFlag = "metadata"
	amendFlag    = "amend"
)

// ExperimentalFlag is the flag that permits extensions which are proposed for Zarr but
// not accepted.
const ExperimentalFlag = "experimental"

// experiments are the values of --experimental.
var experiments = []struct {
	name   string
	permit func(*zarr.Experimental)
}{
	{"encoded-shapes", func(e *zarr.Experimental) { e.EncodedShapes = true }},
	{"inner-chunks", func(e *zarr.Experimental) { e.InnerChunks = true }},
}

// ExperimentNames returns the values of --experimental.
func ExperimentNames() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}

// experimentWords is the value of --experimental. Several occurrences of the flag add up.
type experimentWords string

func (w *experimentWords) Set(text string) error {
	if _, err := parseExperiments(text); err != nil {
		return err
	}
	*w = experimentWords(strings.Trim(string(*w)+","+text, ","))
	return nil
}

func (w *experimentWords) String() string { return string(*w) }
func (w *experimentWords) Type() string   { return "string" }

// parseExperiments parses words with commas between them.
func parseExperiments(text string) (e zarr.Experimental, err error) {
	if text == "" {
		return e, nil
	}
	names := ExperimentNames()
	for word := range strings.SplitSeq(text, ",") {
		i := slices.Index(names, strings.TrimSpace(word))
		if i < 0 {
			return e, fmt.Errorf("%q is not one of %s", word, strings.Join(names, " and "))
		}
		experiments[i].permit(&e)
	}
	return e, nil
}

// Permitted returns the extensions that the command line permits.
func Permitted(cmd *cobra.Command) zarr.Experimental {
	f := cmd.Flag(ExperimentalFlag)
	if f == nil {
		return zarr.Experimental{}
	}
	e, _ := parseExperiments(f.Value.String()) // Set has checked it
	return e
}

// GridOptions returns the options for parsing chunk grids.
func GridOptions(cmd *cobra.Command) grid.ParseOptions {
	return grid.ParseOptions{EncodedShapes: Permitted(cmd).EncodedShapes}
}

// Reading returns the options for nodes that a command only reads.
func Reading(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Experimental: Permitted(cmd), Limits: Limits(cmd), RequireChunks: requiresChunks(cmd), Observer: ObserverOf(cmd.Context()),
	}
}

// Writing returns the options for nodes that a command changes.
func Writing(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Write: true, Experimental: Permitted(cmd), Limits: Limits(cmd), Observer: ObserverOf(cmd.Context()), Rehearsal: LedgerOf(cmd.Context()),
	}
}

// WithoutSecrets returns an argument without credentials.
func WithoutSecrets(arg string) string {
	_, shown := conceal(context.Background(), arg)
	return shown
}

// Subject returns the node or directory that a command line names, or "".
func Subject(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("array_path"); f != nil {
		return f.Value.String()
	}
	return WithoutSecrets(cmd.Flags().Arg(0))
}

// lockFlag is the flag that bounds the wait for a lock.
const lockFlag = "lock-timeout"

// awaitLocks makes a command report the lock that it waits for, and give up after
// --lock-timeout. With --json it reports nothing, because programs read standard error as
// JSON.
func awaitLocks(cmd *cobra.Command) {
	how := store.Locking{Operation: "varve " + cmd.Name()}
	if timeout, given := flagtext.DurationOf(cmd.Flag(lockFlag)); given {
		how.Timeout = cmp.Or(timeout, -1) // the library takes 0 for no limit
	}
	if !WantsJSON(cmd) {
		w := cmd.ErrOrStderr()
		how.Waiting = func(wait store.LockWait) {
			name := wait.Name
			if name == "" {
				name = "the store"
			}
			// A report that cannot be written is no reason to stop waiting.
			_, _ = fmt.Fprintf(w, "varve: waiting for the lock of %s, held by %s; Ctrl-C gives up\n", phrase.Printable(name), phrase.Printable(wait.Holder.String()))
		}
	}
	cmd.SetContext(store.WithLocking(cmd.Context(), how))
}

// LimitFlag is the flag that bounds the memory and the output of a command.
const LimitFlag = "limit"

// sizeValue is the value of a flag for a number of bytes with a unit, or "" if it is not
// given.
type sizeValue struct {
	text  string
	bytes int64
}

func (s *sizeValue) Set(text string) (err error) {
	if s.bytes, err = phrase.ParseSize(text); err == nil {
		s.text = text
	}
	return err
}

func (s *sizeValue) String() string { return s.text }
func (s *sizeValue) Type() string   { return "string" }

// LimitOf returns the value of --limit in bytes, or 0 if it is not given.
func LimitOf(cmd *cobra.Command) int64 {
	f := cmd.Flag(LimitFlag)
	if f == nil {
		return 0
	}
	s, _ := f.Value.(*sizeValue)
	if s == nil {
		return 0
	}
	return s.bytes
}

// Limits returns the limits for the nodes that a command opens. --limit sets those of a
// chunk and of a block. Without it, the text of a block has the budget of this machine.
// Commands that show or write texts read fewer of them at a time if they have more.
func Limits(cmd *cobra.Command) zarr.Limits {
	n := LimitOf(cmd)
	return zarr.Limits{Chunk: n, Block: cmp.Or(n, budget.Most())}
}

// absentFlag is the flag that defines how to read a chunk that is not stored.
const absentFlag = "missing-chunks"

// The values of absentFlag.
const (
	absentFill  = "fill"
	absentError = "error"
)

// requiresChunks reports whether it is an error to read a chunk that is not stored.
func requiresChunks(cmd *cobra.Command) bool {
	f := cmd.Flag(absentFlag)
	return f != nil && f.Value.String() == absentError
}

// rehearsalKey is the context key of a dry run.
type rehearsalKey struct{}

// Rehearsal is a dry run: the command runs as usual, but a ledger records its changes
// instead of the store.
type Rehearsal struct {
	Ledger  rehearsal.Ledger
	Counter *observe.Counter
	Place   string   // the store that changes, "" before it is known
	Removed []string // nodes that the command would remove
}

// LedgerOf returns the ledger of a dry run, or nil.
func LedgerOf(ctx context.Context) *rehearsal.Ledger {
	if d := RehearsalOf(ctx); d != nil {
		return &d.Ledger
	}
	return nil
}

// RehearsalOf returns the dry run of a command, or nil.
func RehearsalOf(ctx context.Context) *Rehearsal {
	d, _ := ctx.Value(rehearsalKey{}).(*Rehearsal)
	return d
}

// Rehearse returns a context that makes a command a dry run, and the dry run. The counter
// is the one of --stats or of the line of progress if there is one.
func Rehearse(ctx context.Context) (context.Context, *Rehearsal) {
	r := &Rehearsal{Counter: cmp.Or(counterOf(ctx), watchedBy(ctx), new(observe.Counter))}
	ctx = context.WithValue(ctx, counterKey{}, (*observe.Counter)(nil)) // the plan has its counts
	return context.WithValue(ctx, rehearsalKey{}, r), r
}

// IsDryRun reports whether a command is a dry run.
func IsDryRun(cmd *cobra.Command) bool { return LedgerOf(cmd.Context()) != nil }

// RehearseIn records the store that a dry run would change.
func RehearseIn(cmd *cobra.Command, at *zarr.Location) {
	if d := RehearsalOf(cmd.Context()); d != nil {
		d.Place = store.TraitsOf(at.Store()).Place
	}
}
