package sqlassigner

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// groupVariables are the variables of Group Replication that each look reads. A server without the
// plugin lacks them.
const groupVariables = "'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency'"

// noMember is the expression of a look that does not ask for the group.
const noMember = "NULL"

// member returns an expression for the state, role and view of this member, or noMember. Versions
// before 8.0.14 lack the consistency, and with it the guarantee of mysqlGroup.
func (m *mysqlServer) member(names []string) string {
	if m.alone.Load() || !slices.Contains(names, "group_replication_consistency") {
		return noMember
	}
	return "(SELECT CONCAT_WS(' ', MEMBER_STATE, MEMBER_ROLE, VIEW_ID) FROM performance_schema.replication_group_members LEFT JOIN " +
		"performance_schema.replication_group_member_stats USING (CHANNEL_NAME, MEMBER_ID) WHERE MEMBER_ID = @@server_uuid)"
}

// leavesGroup reports whether the user may not see the group. Later looks do without it. The error
// of the look may be about another table, so leavesGroup asks again for the member alone.
func (m *mysqlServer) leavesGroup(ctx context.Context, conn *session, member string) bool {
	if member == noMember {
		return false
	}
	var state sql.NullString
	err := conn.QueryRowxContext(ctx, "SELECT "+member).Scan(&state)
	if !unseen(err) {
		return false
	}
	if m.alone.CompareAndSwap(false, true) {
		m.logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: cannot see the group of Group Replication, so each change of the primary starts a quarantine",
			slog.String("remedy", "GRANT SELECT ON performance_schema.replication_group_members and "+
				"performance_schema.replication_group_member_stats to the user"), slog.Any("error", err))
	}
	return true
}

// mysqlGroup returns the identity of the group that this server is the primary of, or "" if the
// server_uuid is the identity. A commit that a primary has acknowledged has reached a majority, so
// a change of the primary loses none. The number at the start of VIEW_ID stays until the group is
// bootstrapped anew, for which its members may have lost commits. group_replication_force_members
// keeps it, and may lose commits too: the operator has to run Recover.
//
// A claim writes its row and the counters, and Group Replication rejects a write that is based on
// stale rows. But a claim only reads the fence, quarantine and horizon of the namespace. Under
// EVENTUAL a new primary answers such a read before it has applied all changes of the old one, so
// the group is no identity there. The other levels make the read wait.
//
// With several primaries the read may be stale at any time, and so may the rows that Horizon and
// Recover list: two transactions that read the changes of each other too late both commit. That is
// a fault.
func mysqlGroup(known map[string]string, member sql.NullString) (identity, fault string, err error) {
	state, rest, _ := strings.Cut(member.String, " ")
	role, view, _ := strings.Cut(rest, " ")
	number, _, begun := strings.Cut(view, ":")
	const mode = "group_replication_single_primary_mode"
	single, isMember := known[mode]
	switch {
	case !isMember || known["group_replication_group_name"] == "" || state == "OFFLINE":
		return "", "", nil
	case !isOn(single):
		return "", mode + "=OFF (allowed: ON)", nil
	case !member.Valid:
		return "", "", nil
	case state != "ONLINE" || role != "PRIMARY" || !begun:
		return "", "", fmt.Errorf("%w (Group Replication: %s)", errReadOnly, strings.TrimSpace(state+" "+role))
	case strings.EqualFold(known["group_replication_consistency"], "EVENTUAL"):
		return "", "", nil
	}
	return "group " + known["group_replication_group_name"] + " of view " + number, "", nil
}
