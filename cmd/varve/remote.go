package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// missingFlag is the name of the flag that says with which statuses a web server tells
// that there is no value.
const missingFlag = "missing"

// missingVar gives all commands the flag.
func missingVar(f *pflag.FlagSet) {
	f.Var(new(statuses), missingFlag, "take `STATUS`, several with commas, of a web server for a value that is missing; 404 and 410 are, 403 often is")
}

// lanFlag is the name of the flag that follows redirections into private networks.
const lanFlag = "private-redirects"

// lanVar gives all commands the flag.
func lanVar(f *pflag.FlagSet) {
	f.Bool(lanFlag, false, "follow redirections of a web server to addresses of private networks and of this machine")
}

// serverFlag is the name of the flag that says how long web servers are waited for.
const serverFlag = "http-timeout"

// serverVar gives all commands the flag.
func serverVar(f *pflag.FlagSet) {
	f.Var(new(patience), serverFlag, "give up a web server that sends nothing, or less than 1 KiB a second, for `DURATION`; 0 waits for ever (default: 30s)")
}

// awaitServers says how long a command waits for web servers, and makes it say that it
// does. Programs that read standard error as JSON are told nothing before the end.
func awaitServers(cmd *cobra.Command, opt *httpstore.Options) {
	if p, ok := cmd.Flag(serverFlag).Value.(*patience); ok && p.given {
		if opt.Stall = p.limit; p.limit == 0 {
			opt.Stall, opt.LeastRate = math.MaxInt64, -1
		}
	}
	if wantsJSON(cmd) {
		return
	}
	w := cmd.ErrOrStderr()
	opt.Waiting = func(host string) {
		// A line that cannot be written is no reason to stop waiting.
		_, _ = fmt.Fprintf(w, "varve: waiting for %s, which sends little or nothing; Ctrl-C gives up\n", phrase.Printable(host))
	}
}

// statuses is the value of the flag.
type statuses []int

func (s *statuses) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 400 || n > 499 {
			return fmt.Errorf("%q is no status from 400 to 499", word)
		}
		if !slices.Contains(*s, n) {
			*s = append(*s, n)
		}
	}
	return nil
}

func (s *statuses) Type() string { return "string" }

// String returns "" for the zero value, which package pflag asks for it.
func (s *statuses) String() string {
	words := make([]string, len(*s))
	for i, n := range *s {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// remoteArguments gives the context of a command what is to be known of web servers, and
// returns its arguments as they may be shown.
func remoteArguments(cmd *cobra.Command, args []string) []string {
	ctx, shown := cmd.Context(), slices.Clone(args)
	for i, arg := range args {
		ctx, shown[i] = httpstore.Conceal(ctx, arg)
	}
	var opt httpstore.Options
	opt.PrivateRedirects, _ = cmd.Flags().GetBool(lanFlag)
	if s, ok := cmd.Flag(missingFlag).Value.(*statuses); ok {
		opt.Missing = *s
	}
	awaitServers(cmd, &opt)
	ctx = httpstore.WithOptions(ctx, &opt)
	cmd.SetContext(ctx)
	return shown
}

// withoutSecrets returns an argument as it may be shown.
func withoutSecrets(arg string) string {
	_, shown := httpstore.Conceal(context.Background(), arg)
	return shown
}

// nodeStore shows what is below a node as a store of its own, for reading.
type nodeStore struct {
	store.Store
	path store.Path
}

// openNodeStore opens the place that a location names, a node or not.
func openNodeStore(ctx context.Context, location string) (*nodeStore, error) {
	s, p, err := store.OpenLocation(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	return &nodeStore{s, p}, nil
}

// Close closes the store.
func (s *nodeStore) Close() error {
	if c, ok := s.Store.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

func (s *nodeStore) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.Store.Get(ctx, s.path.MustKey(key.String()), q, dst)
}

// Stat implements [store.Stater].
func (s *nodeStore) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, s.Store, s.path.MustKey(key.String()))
}

// List implements [store.Lister].
func (s *nodeStore) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	p, err := s.path.Join(dir.String())
	if err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return store.List(ctx, s.Store, p, deep)
}
