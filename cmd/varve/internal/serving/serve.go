// SPDX-License-Identifier: Apache-2.0

// Package serving has the commands serve and view, which publish nodes over HTTP and show
// them in a browser.
package serving

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// defaultBudget is that of package serve.
const defaultBudget = 256 << 20

// serveFlags are the flags of varve serve.
type serveFlags struct {
	listen           string
	origins, hosts   []string
	tokenFile, token string
	public           bool
	cert, key        string
	log              string
	requests         int
	memory           string
	budget           int64  // of memory, in bytes; 0 is the default
	concat, stack    string // the arguments are files of one node
	view, browser    bool   // show the page of a browser, and open it
	notes            []string
}

// NewServe returns the command serve.
func NewServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve NODE…, serve NAME=NODE…, serve FILE… --concat DIM",
		Short: "Publish nodes over HTTP, for reading",
		Long: `Publish nodes over HTTP, for reading. Each node is at http://ADDRESS/NAME with its keys as they are
stored, and at http://ADDRESS/@regular/NAME as plain Zarr, with regular chunks and codecs that every
reader has, whatever NODE is. /@v2/NAME is the same in format 2, and /@values/NAME has selected values.
NAME is the last part of NODE, without .zip or .vz, unless NAME=NODE gives another one. Nothing else of
the store is served. With --concat or --stack, files of other formats are one node.

Programs of this machine may read. If other machines can reach the address, a token is needed, which
is made and printed at the start unless --token-file or the variable VARVE_TOKEN has one; --public
waives it. Pages of web browsers may read if --allow-origin names their origin. /@metrics has figures
for Prometheus, and /@health says that the server works. SIGINT and SIGTERM end the command when the
requests in work are answered, within 10 s.`,
		Example: `  varve serve era5.zarr
  varve serve t2m=era5.zarr/t2m --allow-origin https://example.org --listen 127.0.0.1:0
  varve serve 'data/*.nc' --concat time`,
	}
	f := new(serveFlags)
	f.define(c, "127.0.0.1:8000")
	c.Flags().BoolVar(&f.view, "view", false, "also show the nodes in the page /@view of a browser, as varve view does")
	return c
}

// define defines the flags that serve and view share.
func (f *serveFlags) define(c *cobra.Command, listen string) {
	c.Annotations = map[string]string{progress.Lasting: ""}
	c.ValidArgsFunction = func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return node.Complete(cmd, nil, typed)
	}
	c.Flags().StringVar(&f.listen, "listen", listen, "listen at `ADDRESS`: host and port, where port 0 is any free one, or unix:PATH for a socket of this user")
	c.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "let pages of `ORIGIN`, such as https://example.org, read; * permits all; may be repeated")
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "answer requests to the host `NAME`, such as that of a proxy before this server; may be repeated")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "requests need the token that is in `FILE`")
	c.Flags().StringVar(&f.token, "token", "", "requests need `TOKEN`, which other users of this machine see; for tests")
	_ = c.Flags().MarkHidden("token") // it was just defined
	c.Flags().BoolVar(&f.public, "public", false, "need no token, although other machines can reach the address")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "use HTTPS with the certificates in `FILE`")
	c.Flags().StringVar(&f.key, "tls-key", "", "the `FILE` with the key of --tls-cert")
	c.Flags().StringVar(&f.log, "access-log", "", "add a line of JSON for each request to `FILE`; - is standard output")
	c.Flags().IntVar(&f.requests, "max-requests", 0, "have at most `N` requests in work, and refuse others for the time being; the default is 256")
	c.Flags().StringVar(&f.memory, "memory", "", "give views at most `SIZE` of memory, with what they keep, such as 1GiB (256MiB by default)")
	c.Flags().StringVar(&f.concat, "concat", "", "serve files as one node: put arrays with the dimension `DIM` one after the other along it")
	c.Flags().StringVar(&f.stack, "stack", "", "serve files as one node: give arrays a new first axis `DIM` with one index for each file")
	c.Args = func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) }
	c.RunE = f.run
}

func (f *serveFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failure.BadUsage("NODE is missing: name the nodes to serve, such as era5.zarr")
	}
	for _, arg := range args {
		if name, location := session.CutName(arg); location == "" || name == "" && strings.HasPrefix(arg, "=") {
			return failure.BadUsage("NODE or its name is empty in %q: is a shell variable not set?", session.WithoutSecrets(arg))
		}
	}
	switch {
	case (f.cert == "") != (f.key == ""):
		return failure.BadUsage("--tls-cert and --tls-key belong together: give both")
	case f.requests < 0 || f.requests == 0 && cmd.Flags().Changed("max-requests"):
		return failure.BadUsage("--max-requests must be at least 1")
	case f.memory != "":
		var err error
		if f.budget, err = phrase.ParseSize(f.memory); err != nil {
			return failure.BadUsage("--memory: %w", err)
		}
	}
	switch {
	case f.concat != "" && f.stack != "":
		return failure.BadUsage("--concat and --stack exclude each other")
	case f.log == "-" && session.WantsJSON(cmd):
		return failure.BadUsage("--access-log - would mix with the document of --json: give a file")
	}
	return nil
}

// run serves until the context of the command ends.
func (f *serveFlags) run(cmd *cobra.Command, args []string) (err error) {
	nodes, err := f.open(cmd, args)
	defer func() { err = errors.Join(err, closeNodes(nodes)) }()
	if err != nil {
		return err
	}
	var certificates []tls.Certificate
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return failure.BadArgument("--tls-cert %s: %w", phrase.Word(f.cert), err)
		}
		certificates = append(certificates, pair)
	}
	l, err := listen(cmd.Context(), f.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	who, err := f.access(l)
	if err != nil {
		return err
	}
	defer cost.LimitHeap(cmp.Or(f.budget, defaultBudget))()
	s, err := newServer(cmd, f, nodes, who, certificates, l.base(f.cert != ""))
	if err != nil {
		return err
	}
	defer s.close()
	if err := f.announce(cmd, l, who, nodes); err != nil {
		return err
	}
	if f.browser && who.token == "" && l.socket == "" {
		openBrowser(cmd, l.base(f.cert != "")+"@view/")
	}
	return s.serve(cmd.Context(), l)
}

// announced is what the command serves, in the form of --json.
type announced struct {
	Address string          `json:"address"`
	Link    *string         `json:"link"` // with the token that was made
	View    string          `json:"view,omitempty"`
	Nodes   []announcedNode `json:"nodes"`
}

type announcedNode struct {
	Name    string `json:"name"`
	Node    string `json:"node"`
	Address string `json:"address"`
	Plain   string `json:"plain"` // the address of a view that every reader can open
}

// announce prints where the nodes are. Programs wait for the first line on standard
// error.
func (f *serveFlags) announce(cmd *cobra.Command, l *listener, who *access, nodes []opened) error {
	base := l.base(f.cert != "")
	w := cmd.ErrOrStderr()
	a := announced{Address: base, Nodes: []announcedNode{}}
	_, err := fmt.Fprintf(w, "listening on %s\n", phrase.Printable(l.shown(f.cert != "")))
	if who.made {
		link := base + "?token=" + who.token
		a.Link = &link
	}
	if f.view {
		a.View = base + "@view/"
	}
	private := false
	for _, n := range nodes {
		a.Nodes = append(a.Nodes, announcedNode{n.name, n.location, base + n.escaped(), base + "@regular/" + n.escaped()})
		private = private || n.private
	}
	if session.WantsJSON(cmd) || err != nil {
		return errors.Join(err, session.PrintJSON(cmd, a))
	}
	var b strings.Builder
	if who.made {
		fmt.Fprintf(&b, "requests need a token; this link has it: %s\n", *a.Link)
	}
	if f.view {
		fmt.Fprintf(&b, "page: %s\n", a.View)
	}
	for _, n := range a.Nodes {
		fmt.Fprintf(&b, "%s  %s\n", n.Address, phrase.Printable(n.Node))
	}
	for _, n := range a.Nodes {
		fmt.Fprintf(&b, "plain Zarr, for every reader: %s\n", n.Plain)
	}
	if !l.loopback && l.socket == "" && f.cert == "" && who.token != "" {
		b.WriteString("note: the token can be read on the way, because it is not encrypted; --tls-cert and --tls-key encrypt\n")
	}
	if f.public {
		b.WriteString("note: everybody who can reach the address can read what is served\n")
	}
	for _, note := range f.notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if private && who.token == "" && l.loopback {
		b.WriteString("note: every user of this machine can read what is served; --listen unix:PATH makes a socket that only you can use\n")
	}
	_, err = fmt.Fprint(w, b.String())
	return err
}
