#!/bin/sh
# Runs after installing, upgrading and removing. After an upgrade, a service that runs goes on with the new version. A start may take minutes.
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
case "$1" in
configure | 2) systemctl --no-block try-restart uidring.service || true ;;
esac
