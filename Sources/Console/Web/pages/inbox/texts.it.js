/** @import { Texts } from "../../types.d.ts" */

/** @type {Texts<typeof import("./texts.en.js").en>} */
export const it = {
  all: "Tutte", buckets: "Bucket", scheduled: "Programmate", trash: "Cestino", quiet: "Ore di silenzio", newBucket: "Nuovo bucket",
  compose: "Scrivi", search: "Cerca notifiche", unreadOnly: "Solo non lette", list: "Notifiche", back: "Torna all’elenco",
  unread: (count = "") => `${count} non lette`,
  fresh: (count = 0) => count === 1 ? "1 nuova" : `${count} nuove`,
  selected: (count = 0) => count === 1 ? "1 selezionata" : `${count} selezionate`,
  select: (title = "") => `Seleziona ${title}`,
  markRead: "Segna come letta", markUnread: "Segna come non letta", remove: "Elimina", restore: "Ripristina", snooze: "Posticipa",
  trace: "Tracciato", markAll: "Segna tutte come lette", clear: "Annulla la selezione",
  markedRead: (count = 0) => count === 1 ? "Segnata come letta" : `${count} segnate come lette`,
  markedUnread: (count = 0) => count === 1 ? "Segnata come non letta" : `${count} segnate come non lette`,
  removed: (count = 0) => count === 1 ? "Eliminata" : `${count} eliminate`,
  restored: (count = 0) => count === 1 ? "Ripristinata" : `${count} ripristinate`,
  snoozedUntil: (time = "") => `Posticipata fino a ${time}`,
  isUnread: "Non letta",
  emptyTitle: "Non c’è nulla", emptyText: "Le notifiche appaiono qui appena sono pubblicate.",
  emptySearch: "Nessuna notifica contiene queste parole.", emptyUnread: "Tutto è stato letto.",
  emptyTrash: "Le notifiche eliminate restano qui per 30 giorni.", emptyScheduled: "Nulla è programmato.",
  pick: "Nessuna notifica selezionata", pickText: "Scegline una dall’elenco, o premi j.",
  notFound: "Questa notifica non esiste, o non è tua.",
  imageHint: (host = "") => `Caricandola, ${host} vede il tuo indirizzo.`, loadKept: "Mostra",
  actions: "Azioni", ran: (state = "") => `Azione: ${state}`,
  states: {
    DELIVERY_STATE_SCHEDULED: "Programmata", DELIVERY_STATE_HELD: "Trattenuta", DELIVERY_STATE_SENT: "Passata all’invio",
    DELIVERY_STATE_SUPPRESSED: "Senza push", DELIVERY_STATE_SNOOZED: "Posticipata", DELIVERY_STATE_POSTPONED: "Rimandata",
  },
  runs: { STATE_SUCCEEDED: "riuscita", STATE_RETRYING: "sarà ritentata", STATE_FAILED: "fallita", STATE_RUNNING: "in corso" },
  facts: {
    bucket: "Bucket", created: "Creata", sent: "Passata all’invio", read: "Letta", release: "Rilasciata", deliver: "Prevista",
    expires: "Scade", id: "Id", priority: "Priorità", state: "Stato",
  },
  priorities: {
    PRIORITY_SILENT: "Silenziosa", PRIORITY_NORMAL: "Normale", PRIORITY_CRITICAL: "Critica", PRIORITY_NO_PUSH: "Senza push",
  },
  cancelSchedule: "Annulla", cancelled: (count = 0) => count === 1 ? "Annullata" : `${count} annullate`,
};
