// SPDX-License-Identifier: Apache-2.0

// Varve is the command line for Zarr stores with regular and rectilinear chunk grids.
//
// Data goes to standard output, messages to standard error. The exit status is 0 for
// success, 1 for a failure, and 2 for wrong usage; 128 plus the number of a signal that
// ended the command, also if a reader closed a pipe. With --json, one JSON document is
// printed on standard output, and one on standard error for a failure.
//
// # How commands are written
//
// Every command is in a file named after it. Families of commands are packages below
// internal, such as growing and checking, and export a constructor for each command. This
// package has the root, help, and commands that belong to no family. Commands only parse
// arguments and print results. What other programs could use is in packages of the
// library.
//
//   - RunE does the work. It returns errors as the library made them, and prints none.
//     Its own errors come from package failure, which gives them their kind in JSON.
//     Errors of RunE lead to status 1. Usage errors (failure.BadUsage), and errors of
//     flags and arguments, lead to status 2.
//   - Streams are cmd.InOrStdin(), cmd.OutOrStdout() and cmd.ErrOrStderr(), never those
//     of package os. session.Print buffers long output. output.Withheld holds output
//     back while it may still fail.
//   - session.WantsJSON tells whether --json was given, and session.PrintJSON prints one
//     document. Members that do not apply are null.
//   - session.WithStats adds --stats to commands that move data. Its counter is in the
//     context; session.Reading, session.Writing and place.Locate pass it on.
//   - dryrun.With adds --dry-run to commands that change something.
//   - The context is cmd.Context(). A signal cancels it.
//   - Short is one sentence without a final period. Example has one or two lines that
//     work. Lines of Long may have any length, because help wraps them. Entries of lists
//     begin with two spaces. A new command joins one of commandGroups.
//   - The placeholder of a flag is one word in capitals, in backquotes.
//   - Flags whose text has a grammar are made by flagtext.Var or by functions based on
//     it. They refuse malformed text as wrong usage, before any work begins.
//   - node.Open and node.OpenArray open a location for reading. Other calls take the
//     options of session.Reading or session.Writing, which have the values of the flags
//     of all commands, such as --experimental and --limit.
//   - Commands that change an extent share growth.Flags; other commands that write take
//     growth.SingleWriterFlag alone.
//   - Errors that name no node get the one of the command line, so messages leave it out.
//   - session.Confirm prints a line about what was done, on terminals only.
//   - Tests call execute(t, stdin, args...). It runs the command in the test's process,
//     and returns what it printed and its status.
package main
