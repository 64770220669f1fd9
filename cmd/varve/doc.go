// SPDX-License-Identifier: Apache-2.0

// Varve is the command line for Zarr version 3 stores with regular and rectilinear chunk
// grids.
//
// Data goes to standard output, messages to standard error. The exit status is 0 when
// done, 1 when it failed, and 2 for wrong usage. With --json there is one JSON document
// on standard output, and a failure is one on standard error.
//
// # How commands are written
//
// Every command is a file named after it with a constructor new…Command() *cobra.Command,
// which newRoot lists. A command is presentation: whatever other programs could need
// lives in a package of the library.
//
//   - RunE does the work and returns errors as the library made them; it prints none. Errors of its own wrap one of
//     [zarr.ErrInvalidArgument] and [zarr.ErrUnsupported] (failure.BadArgument, unsupported), which decides the kind in JSON.
//     What RunE returns is status 1, except usageError, which is status 2 like all errors of flags and arguments.
//   - Streams are cmd.InOrStdin(), cmd.OutOrStdout() and cmd.ErrOrStderr(), never those of package os. Commands that print
//     much buffer with buffered(cmd, func(w *bufio.Writer) error); documents of any length that may fail use withheld.
//   - session.WantsJSON(cmd) tells whether --json was given; session.PrintJSON(cmd, v) prints one document. Members that do not apply are null.
//   - Commands that move data have the flag --stats by session.WithStats. The counter is in their context, reading(cmd), writing(cmd) and locate
//     pass it on, and session.PrintJSON and session.PrintDocument add what it counted.
//   - Contexts come from cmd.Context(): Ctrl-C cancels them.
//   - Short is one sentence without a final period, Example one or two lines that work. A new command joins one of commandGroups.
//     Lines of Long may be of any length: help wraps them, and keeps entries of lists, which begin with two spaces.
//   - The placeholder of a flag is a word in capitals in backquotes, and the text says what it stands for.
//   - confirm says on a terminal what was done; styled makes text stand out where there are colours.
//   - node.Open and node.OpenArray open a location for reading. Other openings take reading(cmd) or writing(cmd), which carry what
//     --experimental permits and what --limit bounds; session.GridOptions(cmd) does so for a chunk grid alone. Flags whose text has a grammar are made by flagtext.Var (argument.ShapeFlag,
//     selectionFlag, formatFlag), so that malformed text is wrong usage before any work begins.
//   - Commands that change an extent share changeFlags, which has the policies of growth and the times that a calendar needs;
//     singleWriterFlag alone is for other changes. propose makes a shell complete the values of a flag.
//   - Errors that do not name a node get that of the command line: messages leave it out. Those about an axis come from failure.OnAxis.
//   - Tests call execute(t, stdin, args...), which runs the command in-process and returns what it printed and its status.
package main
