// SPDX-License-Identifier: Apache-2.0

// Package failure has the errors of the command, and their messages in the words of the
// command line: flags instead of Go fields, and no names of Go packages.
//
// What a command returns ends with status 1, except wrong usage, which is status 2. The
// sentinel that an error matches decides its kind in JSON.
package failure
