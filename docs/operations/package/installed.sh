#!/bin/sh
# Runs after installing, upgrading and removing: a service that runs goes on with the new version.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart uidring.service || true
fi
